"""What the inspector of one output shows: the rounds of its refinement, texts tried by hand, and where the model's edits and
people's marks overlap. Plain JSON values for the page; the model is asked elsewhere (`core.refine.inspect`).

Marks of other raters are labels that an annotator must not see before submitting: whoever draws them asks `Marks` for the
segments that this person may see.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from core.data import Dataset, OutputKey, RatedOutput, Segment, SegmentKey
from core.mqm.log import SegmentLabels, fold
from core.mqm.scores import rated_outputs
from core.ports import Store
from core.refine.inspect import Round
from core.refine.options import NonTranslation, Options
from core.refine.overlap import Characters, Overlap, agreement, compared, edited, layers, marked
from core.refine.result import EDITS, Refinement, Step, Token
from core.services.labels import finished
from core.text.diff import diff

TRIES = 20
LONGEST = 20_000
CLOSE = 1e-3
BROKEN = "\ufffd"
MANY_TOKENS = 4000
"""Above so many sub-words in all rounds together, alternatives are sent for one round at a time."""


# ── the model ────────────────────────────────────────────────────────────────────────────────────────────────────────


def facts_of(signature: str) -> dict[str, str]:
    return dict(part.split(":", 1) for part in signature.split("|")[1:] if ":" in part)


def another_model(signature: str, here: Mapping[str, object]) -> str:
    """Which model made a stored refinement, in words, when it is not the one that is `here`; else ""."""
    made = facts_of(signature)
    if all(made.get(name, str(here[name])) == str(here[name]) for name in ("model", "rev", "dtype") if name in here):
        return ""
    return f"{made.get('model', 'another model')} ({made.get('rev', 'revision unknown')})"


def options_of(signature: str) -> Options:
    """The options a refinement was made with, read from its signature; prompts are left out, for it runs without them."""
    facts, usual = facts_of(signature), Options()
    tests = re.fullmatch(r"(?:overlap([\d.e-]+)\+)?prob([\d.e-]+)", facts.get("nt", ""))
    nt: NonTranslation = "off" if facts.get("nt") == "off" else "probability" if tests and not tests[1] else "overlap"
    rounds = facts.get("rounds", "half")
    return Options(
        k=int(facts.get("k", usual.k)),
        rounds=None if rounds == "half" else int(rounds),
        edits=tuple(e for e in EDITS if e in facts.get("edits", "+".join(EDITS)).split("+")),
        non_translation=nt,
        overlap=float(tests[1]) if tests and tests[1] else usual.overlap,
        share=float(tests[2]) if tests else usual.share,
    )


def condition_of(segment: Segment, analysis: Refinement) -> tuple[str, str]:
    """What the output was scored against: its name and its text. Raises IndexError when that reference is gone."""
    if analysis.condition < 0:
        return "source", segment.source or ""
    name = f"reference {analysis.condition + 1}" if len(segment.references) > 1 else "reference"
    return name, segment.references[analysis.condition]


def departs(analysis: Refinement, rounds: Sequence[Round], *, prompted: bool) -> bool:
    """Whether what was replayed is not the stored refinement (other library versions, another machine).

    Scores of the trace are without prompts, that of an output that needed no edit may be with.
    """
    stored = [s.before for s in analysis.steps] or ([] if prompted else [analysis.score_hyp])
    other = [r.text for r in rounds[1:]] != [s.text for s in analysis.steps]
    return other or any(abs(r.score - before) > CLOSE for r, before in zip(rounds, stored, strict=False))


# ── rounds and tries ─────────────────────────────────────────────────────────────────────────────────────────────────


class Try(NamedTuple):
    """A text of one's own, scored. `n` is the browser's number for it, `base` the round ("r0") or try ("t" and its number) it came from."""

    n: int
    base: str
    before: Round
    after: Round


def base_of(name: str, rounds: Sequence[Round], tries: Sequence[Try]) -> Round | None:
    """The text that is called so: "r" and the number of a round, or "t" and the number of a try."""
    if name[:1] == "t":
        return next((t.after for t in tries if f"t{t.n}" == name), None)
    number = name[1:]
    known = number.isdecimal() and len(number) < 10 and int(number) < len(rounds)
    return rounds[int(number)] if known else None


def round_json(seen: Round, *, full: bool = True) -> dict[str, Any]:
    """A round for the browser: alternatives are [text, probability], and True after those where the token that stands
    there is one of them. Without `full` they are left for later.
    """
    near = [_near(*beside) for beside in zip(seen.tokens, seen.alternatives, strict=True)] if full else None
    return {
        "text": seen.text,
        "tokens": [[t.text, t.start, t.end, t.logp] for t in seen.tokens],
        "near": near,
        "score": seen.score,
        "step": _step(seen.step) if seen.step else None,
    }


def _near(token: Token, alternatives: Sequence[tuple[str, float]]) -> list[list[Any]]:
    """A token that is part of a character has no text to be known by; its probability is that of the alternative."""
    own = math.exp(token.logp)
    same = [
        math.isclose(p, own, rel_tol=CLOSE) and (w.strip() == token.text.strip() or BROKEN in w)
        for w, p in alternatives
    ]
    here = same.index(True) if True in same and token.text else -1
    return [[w, round(p, 5), True] if i == here else [w, round(p, 5)] for i, (w, p) in enumerate(alternatives)]


def _step(step: Step) -> list[Any]:
    return [step.edit, step.old, step.new, step.before, step.after, step.position]


def rounds_json(rounds: Sequence[Round], at: int) -> list[dict[str, Any]]:
    """All rounds; where they are very many or long, with the alternatives of the one looked `at` only."""
    few = sum(len(r.tokens) for r in rounds) <= MANY_TOKENS
    return [round_json(r, full=few or i == at) for i, r in enumerate(rounds)]


def try_json(tried: Try) -> dict[str, Any]:
    return {
        "n": tried.n,
        "base": tried.base,
        "before": tried.before.score,
        "after": tried.after.score,
        "diff": [[p.kind, p.text] for p in diff(tried.before.text, tried.after.text)],
        "round": round_json(tried.after),
    }


# ── overlap ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Marks:
    """Submitted labels of some segments, by output; `hidden` are segments this person may not see the labels of yet."""

    by_output: Mapping[OutputKey, Sequence[RatedOutput]]
    hidden: Collection[SegmentKey]

    def of_segment(self, segment: SegmentKey) -> list[RatedOutput]:
        return [r for key, rated in self.by_output.items() if key.segment == segment for r in rated]


def marks(
    store: Store,
    project_id: int,
    dataset: Dataset,
    rater: str | None,
    *,
    everyone: bool,
    segment: SegmentKey | None = None,
) -> Marks:
    """The labels that may be shown to `rater`: of segments this rater has submitted, or, asked for explicitly, of all.

    Only labels of submitted segments count. `segment` limits it to one.
    """
    folded = fold(store.labels.events(project_id, segment=segment))
    outputs = dataset.outputs_of()
    asked = [key for key in outputs if outputs[key] and segment in (None, key)]
    shown = {key for key in asked if everyone or _done(folded, rater, key, [o.system for o in outputs[key]])}
    texts = {o.key: o.text for key in shown for o in outputs[key]}
    found: dict[OutputKey, list[RatedOutput]] = {}
    for rated in rated_outputs({k: v for k, v in folded.items() if k[1] in shown}, texts):
        if rated.key in texts:
            found.setdefault(rated.key, []).append(rated)
    return Marks(found, set(asked) - shown)


def _done(
    folded: Mapping[tuple[str, SegmentKey], SegmentLabels], rater: str | None, segment: SegmentKey, systems: list[str]
) -> bool:
    return rater is not None and finished(folded.get((rater, segment)), systems)


def edits(store: Store, project_id: int, signature: str, dataset: Dataset) -> dict[OutputKey, Characters]:
    """The characters the stored refinement took away from each output it was made of."""
    texts = {o.key: o.text for o in dataset.outputs}
    return {
        key: edited(texts[key], value.detail["refined"])
        for segment in dataset.segments
        for system, value in store.scores.detail(project_id, signature, segment.key).items()
        if value.detail is not None and (key := OutputKey(system, *segment.key)) in texts
    }


def overlap(
    rated: Iterable[RatedOutput], texts: Mapping[OutputKey, str], model: Mapping[OutputKey, Characters]
) -> Overlap:
    """All comparisons of a rater with the model, one a rated output that has a refinement, counted together."""
    return agreement([compared(model[r.key], marked(texts[r.key], r.errors)) for r in rated if r.key in model])


def overlap_json(found: Overlap) -> dict[str, Any]:
    return {
        "p": found.precision, "r": found.recall, "f": found.f, "why": found.reason, "n": found.comparisons,
        "counts": list(found.counts),
    }  # fmt: skip


def layers_json(text: str, refined: str, rated: Sequence[RatedOutput]) -> list[list[Any]]:
    """The drawing: [text, edited, severity, raters, inserted before it] a stretch."""
    return [list(layer) for layer in layers(text, refined, [r.errors for r in rated])]
