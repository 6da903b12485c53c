"""The units behind the evidence on a participant: what was missed, answered too fast, or answered unlike the others."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from core.campaigns.attention_checks import check_from_json
from core.campaigns.rater_evidence import check_passed
from core.campaigns.submitted import EvidenceKind, QualityThresholds, SubmittedUnit, answers
from core.data import Span, grouped

MOST = 20


class EvidenceUnit(NamedTuple):
    """A unit that a participant has labelled, with what it shows. `planted` are the planted errors of a check in the output `broken`."""

    unit: SubmittedUnit
    text: str
    planted: tuple[Span, ...] = ()
    broken: str = ""


def evidence_units(rater: str, kind: EvidenceKind, given: Sequence[SubmittedUnit]) -> list[EvidenceUnit]:
    """Return the units that speak most for a signal of this kind, strongest first; at most `MOST`."""
    mine = [u for u in given if u.rater == rater and u.kind != "tutorial"]
    if kind == "checks":
        found = _checks(mine)
    elif kind == "repeats":
        found = _repeats(mine)
    elif kind == "speed":
        found = _fast(mine)
    elif kind in ("agreement", "span agreement"):
        found = _unlike_others(mine, given)
    else:
        found = [EvidenceUnit(u, _answer(u)) for u in mine if u.kind == "item"]
    return found[:MOST]


def _checks(mine: Sequence[SubmittedUnit]) -> list[EvidenceUnit]:
    rows = []
    for unit in mine:
        if unit.kind == "check" and (passed := check_passed(unit, mine, QualityThresholds())) is not None:
            check = check_from_json(unit.details)
            text = f"{'passed' if passed else 'failed'}: planted {check.planted.kind}"
            rows.append((passed, EvidenceUnit(unit, text, check.planted.spans, check.broken)))
    return [row for _, row in sorted(rows, key=lambda r: r[0])]


def _repeats(mine: Sequence[SubmittedUnit]) -> list[EvidenceUnit]:
    first = {u.unit: u for u in mine if u.kind == "item"}
    pairs = [(first[u.details["unit"]], u) for u in mine if u.kind == "repeat" and u.details.get("unit") in first]
    rows = [
        (_distance(before, after), EvidenceUnit(after, f"first {_answer(before)}, then {_answer(after)}"))
        for before, after in pairs
    ]
    return [row for _, row in sorted(rows, key=lambda r: -r[0])]


def _fast(mine: Sequence[SubmittedUnit]) -> list[EvidenceUnit]:
    timed = sorted((u for u in mine if u.seconds > 0 and u.words), key=lambda u: -u.words / u.seconds)
    return [EvidenceUnit(u, f"{u.words} words in {u.seconds:.0f} s") for u in timed]


def _unlike_others(mine: Sequence[SubmittedUnit], given: Sequence[SubmittedUnit]) -> list[EvidenceUnit]:
    same = grouped((u.unit, u) for u in given if u.kind == "item")
    rows = []
    for unit in mine:
        others = [u for u in same.get(unit.unit, ()) if u.rater != unit.rater] if unit.kind == "item" else []
        if others:
            far = fmean(_distance(unit, other) for other in others)
            said = ", ".join(_answer(other) for other in others)
            rows.append((far, EvidenceUnit(unit, f"{_answer(unit)}; others: {said}")))
    return [row for _, row in sorted(rows, key=lambda r: -r[0])]


def _distance(one: SubmittedUnit, other: SubmittedUnit) -> float:
    """Return the mean distance of the answers on a unit; repeats have a name of their own, so the systems are compared."""
    a, b = ({(p.system, p.against): v for p, v in answers(u).items()} for u in (one, other))
    shared = a.keys() & b.keys()
    return fmean(abs(a[place] - b[place]) for place in shared) if shared else 0.0


def _answer(unit: SubmittedUnit) -> str:
    """Return an answer in a few words: scores, the preference, or the number of errors."""
    if "preference" in unit.labels.asks:
        winner = unit.labels.preference[0] if unit.labels.preference else None
        return f"prefers {winner}" if winner else "equally good"
    if "score" in unit.labels.asks:
        return "score " + ", ".join(f"{value:g}" for value in answers(unit).values())
    n = sum(len(unit.labels.of(system).marks) for system in unit.systems)
    return "no error" if not n else f"{n} error{'s' if n > 1 else ''}"
