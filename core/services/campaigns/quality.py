"""Verdicts on the participants of a campaign, with the units behind each piece of evidence."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from core.campaigns.attention_checks import check_from_json
from core.campaigns.rater_evidence import check_passed
from core.campaigns.submitted import EvidenceKind, UnitJudgement, answers
from core.data import Span, grouped
from core.ports.campaigns import Campaign
from core.ports.store import Store
from core.services.campaigns.suggestions import wrong_suggestions
from core.text.words import words


def submitted_units(store: Store, campaign: Campaign, answers: Sequence[UnitJudgement]) -> list[UnitJudgement]:
    """Return the submitted units that were judged, with the number of words to be read and the wrong suggestions that were shown."""
    texts = store.projects.dataset(campaign.texts)
    length = {s.doc_id: len(words(s.source or "")) for s in texts.segments}
    for output in texts.outputs:
        length[output.doc_id] += len(words(output.text))
    submitted = [
        a._replace(words=length.get(a.unit.name, 0)) for a in answers if a.labels.submitted and not a.labels.declined
    ]
    return wrong_suggestions(store, campaign, submitted)


MOST = 20


class EvidenceUnit(NamedTuple):
    """A unit that a participant has labelled, with what it shows. `planted` are the planted errors of a check in the output `broken`."""

    judgement: UnitJudgement
    text: str
    planted: tuple[Span, ...] = ()
    broken: str = ""


def evidence_units(rater: str, kind: EvidenceKind, submitted: Sequence[UnitJudgement]) -> list[EvidenceUnit]:
    """Return the units that speak most for a signal of this kind, strongest first; at most `MOST`."""
    mine = [u for u in submitted if u.rater == rater and u.unit.kind != "tutorial"]
    if kind == "checks":
        evidence = _checks(mine)
    elif kind == "suggestions":
        evidence = _wrong_suggestions(mine)
    elif kind == "repeats":
        evidence = _repeats(mine)
    elif kind == "speed":
        evidence = _fast(mine)
    elif kind in ("agreement", "span agreement"):
        evidence = _unlike_others(mine, submitted)
    else:
        evidence = [EvidenceUnit(u, _answer(u)) for u in mine if u.unit.kind == "item"]
    return evidence[:MOST]


def _checks(mine: Sequence[UnitJudgement]) -> list[EvidenceUnit]:
    rows = []
    for judgement in mine:
        if judgement.unit.kind == "check" and (passed := check_passed(judgement, mine)) is not None:
            check = check_from_json(judgement.unit.details)
            text = f"{'passed' if passed else 'failed'}: planted {check.planted.kind}"
            rows.append((passed, EvidenceUnit(judgement, text, check.planted.spans, check.broken)))
    return [row for _, row in sorted(rows, key=lambda r: r[0])]


def _wrong_suggestions(mine: Sequence[UnitJudgement]) -> list[EvidenceUnit]:
    return [
        EvidenceUnit(
            u, f"{'accepted' if wrong.accepted else 'rejected'} a wrong suggestion", (wrong.span,), wrong.system
        )
        for accepted in (True, False)
        for u in mine
        for wrong in u.wrong
        if wrong.accepted == accepted
    ]


def _repeats(mine: Sequence[UnitJudgement]) -> list[EvidenceUnit]:
    first = {u.unit.name: u for u in mine if u.unit.kind == "item"}
    pairs = [
        (first[u.unit.details["unit"]], u)
        for u in mine
        if u.unit.kind == "repeat" and u.unit.details.get("unit") in first
    ]
    rows = [
        (_distance(before, after), EvidenceUnit(after, f"first {_answer(before)}, then {_answer(after)}"))
        for before, after in pairs
    ]
    return [row for _, row in sorted(rows, key=lambda r: -r[0])]


def _fast(mine: Sequence[UnitJudgement]) -> list[EvidenceUnit]:
    timed = sorted((u for u in mine if u.labels.seconds > 0 and u.words), key=lambda u: -u.words / u.labels.seconds)
    return [EvidenceUnit(u, f"{u.words} words in {u.labels.seconds:.0f} s") for u in timed]


def _unlike_others(mine: Sequence[UnitJudgement], submitted: Sequence[UnitJudgement]) -> list[EvidenceUnit]:
    same = grouped((u.unit.name, u) for u in submitted if u.unit.kind == "item")
    rows = []
    for judgement in mine:
        others = (
            [u for u in same.get(judgement.unit.name, ()) if u.rater != judgement.rater]
            if judgement.unit.kind == "item"
            else []
        )
        if others:
            far = fmean(_distance(judgement, other) for other in others)
            said = ", ".join(_answer(other) for other in others)
            rows.append((far, EvidenceUnit(judgement, f"{_answer(judgement)}; others: {said}")))
    return [row for _, row in sorted(rows, key=lambda r: -r[0])]


def _distance(one: UnitJudgement, other: UnitJudgement) -> float:
    """Return the mean distance of the answers on a unit; repeats have a name of their own, so the systems are compared."""
    a, b = ({(p.system, p.against): v for p, v in answers(u).items()} for u in (one, other))
    shared = a.keys() & b.keys()
    return fmean(abs(a[place] - b[place]) for place in shared) if shared else 0.0


def _answer(judgement: UnitJudgement) -> str:
    """Return an answer in a few words: scores, the preference, or the number of errors."""
    if "preference" in judgement.labels.asks:
        winner = judgement.labels.preference[0] if judgement.labels.preference else None
        return f"prefers {winner}" if winner else "equally good"
    if "score" in judgement.labels.asks:
        return "score " + ", ".join(f"{value:g}" for value in answers(judgement).values())
    n = sum(len(judgement.labels.of(system).marks) for system in judgement.unit.systems)
    return "no error" if not n else f"{n} error{'s' if n > 1 else ''}"
