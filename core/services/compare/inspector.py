"""Data of the inspector of one output as plain JSON values; the model runs in `core.refine.inspect`.

It has the rounds of the refinement, texts edited by the user, and the overlap of the model's edits with annotators' error
spans. An annotator must not see other raters' labels before submitting; `Marks` has the segments this annotator may see.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from core.columns import ProjectIndex
from core.data import OutputKey, RatedOutput, Segment, SegmentKey
from core.metrics.generation.bartscore import scorer
from core.mqm.label_columns import LabelColumns
from core.mqm.rated_by_output import RatedByOutput
from core.mqm.scores import with_text
from core.ports.store import Store
from core.processes import host
from core.refine import inspect
from core.refine.edits import (
    CharacterCounts,
    Characters,
    Overlap,
    agreement,
    count_characters,
    edited,
    layers,
    marked,
)
from core.refine.inspect import Round
from core.refine.result import EDITS, EditStep, NonTranslation, Options, Refinement, Token, Variant, token_labels
from core.services.projects.texts import StoredTexts
from core.signature import fields_of
from core.text.edits import diff

TRIES = 20
LONGEST = 20_000
CLOSE = 1e-3
BROKEN = "\ufffd"
MANY_TOKENS = 4000
"""Above this number of sub-words in all rounds, alternatives are sent for one round at a time."""


# ── the model ────────────────────────────────────────────────────────────────────────────────────────────────────────


def another_model(signature: str, current: Mapping[str, object]) -> str:
    """Return the model of a stored refinement if it is not the current model `current`, else ""."""
    made = fields_of(signature)
    if all(
        made.get(name, str(current[name])) == str(current[name])
        for name in ("model", "rev", "dtype")
        if name in current
    ):
        return ""
    return f"{made.get('model', 'another model')} ({made.get('rev', 'revision unknown')})"


def options_of(signature: str) -> Options:
    """Return the options of a refinement from its signature, without prompts, because it runs without them."""
    facts, usual = fields_of(signature), Options()
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
    """Return name and text of the condition of the scores. Raises IndexError if the reference no longer exists."""
    if analysis.condition < 0:
        return "source", segment.source or ""
    name = f"reference {analysis.condition + 1}" if len(segment.references) > 1 else "reference"
    return name, segment.references[analysis.condition]


def departs(analysis: Refinement, rounds: Sequence[Round], *, prompted: bool) -> bool:
    """Return whether a replay differs from the stored refinement (other library versions, another machine).

    Scores of the trace are without prompts; that of an output without edits may be with prompts.
    """
    stored = [s.before for s in analysis.steps] or ([] if prompted else [analysis.score_hyp])
    other = [r.text for r in rounds[1:]] != [s.text for s in analysis.steps]
    return other or any(abs(r.score - before) > CLOSE for r, before in zip(rounds, stored, strict=False))


def look(text: str, condition: str, variant: Variant, k: int) -> Round:
    """Return one round: the token probabilities of a text under the configured model."""
    return host.run(_look, text, condition, variant, k)


def _look(text: str, condition: str, variant: Variant, k: int) -> Round:
    return inspect.inspect_text(scorer(), text, condition, variant, k)


def rounds(
    text: str, condition: str, variant: Variant, options: Options, known: tuple[EditStep, ...] | None
) -> tuple[Round, ...]:
    """Return a refinement round by round under the configured model: along `known` steps, or computed if there are none."""
    return host.run(_rounds, text, condition, variant, options, known)


def _rounds(
    text: str, condition: str, variant: Variant, options: Options, known: tuple[EditStep, ...] | None
) -> tuple[Round, ...]:
    if known is None:
        return inspect.rounds(scorer(), text, condition, variant, options)
    return inspect.replay(scorer(), text, condition, variant, known, options.k)


# ── rounds and tries ─────────────────────────────────────────────────────────────────────────────────────────────────


class Try(NamedTuple):
    """A scored text that the user edited. `n` is its number in the browser, `base` the round ("r0") or try ("t1") it is based on."""

    n: int
    base: str
    before: Round
    after: Round


def base_of(name: str, rounds: Sequence[Round], tries: Sequence[Try]) -> Round | None:
    """Return the text named "r" and the number of a round, or "t" and the number of a try."""
    if name[:1] == "t":
        return next((t.after for t in tries if f"t{t.n}" == name), None)
    number = name[1:]
    known = number.isdecimal() and len(number) < 10 and int(number) < len(rounds)
    return rounds[int(number)] if known else None


def round_json(seen: Round, *, full: bool = True) -> dict[str, Any]:
    """Return a round for the browser. Alternatives are [text, probability], followed by True for the actual token.

    Without `full` the alternatives are left out.
    """
    near = [_near(*beside) for beside in zip(seen.tokens, seen.alternatives, strict=True)] if full else None
    return {
        "text": seen.text,
        "tokens": [
            [*token, label]
            for token, label in zip(seen.tokens, token_labels([t[:3] for t in seen.tokens]), strict=True)
        ],
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
    own_place = same.index(True) if True in same and token.text else -1
    return [[w, round(p, 5), True] if i == own_place else [w, round(p, 5)] for i, (w, p) in enumerate(alternatives)]


def _step(step: EditStep) -> list[Any]:
    return [step.edit, step.old, step.new, step.before, step.after, step.position]


def rounds_json(rounds: Sequence[Round], at: int) -> list[dict[str, Any]]:
    """Return all rounds; if they are long, with the alternatives of round `at` only."""
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
    """Submitted labels by output. An annotator may see those of the segments in `shown`; None means all."""

    by_output: RatedByOutput
    shown: Collection[SegmentKey] | None = None

    def hides(self, segment: SegmentKey) -> bool:
        """Return whether this annotator may not see the labels of a segment yet."""
        return self.shown is not None and segment not in self.shown


def visible_marks(labels: LabelColumns, index: ProjectIndex, rater: str | None, *, everyone: bool) -> Marks:
    """Return the labels that `rater` may see: those of segments this rater has submitted, or of all with `everyone`.

    Only labels of submitted segments count. Labels that mean a whole text have no text yet: see `with_texts`.
    """
    in_project, i, _ = labels.cells(index, labels.rated_rows)
    rows = labels.rated_rows[in_project]
    if everyone:
        return Marks(RatedByOutput(labels, rows))
    outline, mine = index.outline, labels.finished_by(rater) if rater else {}
    shown = {key for key, done in mine.items() if key in outline and (done is None or done.issuperset(outline[key]))}
    return Marks(RatedByOutput(labels, rows[np.isin(i, [index.row[key] for key in shown])]), shown)


def with_texts(seen: Marks, segment: SegmentKey, texts: Mapping[str, str]) -> dict[OutputKey, list[RatedOutput]]:
    """Return the labels of one segment, completed with the texts of its outputs by system (`core.mqm.scores.with_text`)."""
    keys = (OutputKey(system, *segment) for system in texts)
    rated = {key: [with_text(r, texts[key.system]) for r in seen.by_output.get(key, ())] for key in keys}
    return {key: of for key, of in rated.items() if of}


def edits(
    store: Store, project_id: int, signature: str, segment: SegmentKey, texts: Mapping[str, str]
) -> dict[OutputKey, Characters]:
    """Return the characters that the stored refinement removed from each output of a segment; `texts` are by system."""
    return {
        OutputKey(system, *segment): edited(texts[system], value.detail["refined"])
        for system, value in store.scores.detail(project_id, signature, segment).items()
        if value.detail is not None and system in texts
    }


def overlap(
    rated: Iterable[RatedOutput], texts: Mapping[OutputKey, str], model: Mapping[OutputKey, Characters]
) -> Overlap:
    """Return the overlap over all rated outputs that have a refinement, one comparison per rater and output."""
    return agreement(_comparisons(rated, texts, model))


def _comparisons(
    rated: Iterable[RatedOutput], texts: Mapping[OutputKey, str], model: Mapping[OutputKey, Characters]
) -> list[CharacterCounts]:
    return [count_characters(model[r.key], marked(texts[r.key], r.errors)) for r in rated if r.key in model]


def project_overlap(store: Store, project_id: int, signature: str, of: StoredTexts, seen: Marks) -> tuple[Overlap, int]:
    """Return the overlap over all labels that may be seen, and the number of segments with labels."""
    segments = list(dict.fromkeys(key.segment for key in seen.by_output))
    counts = list[CharacterCounts]()
    for segment, texts in of.each(segments):
        outputs = {OutputKey(system, *segment.key): text for system, text in texts.items()}
        rated = (r for of_output in with_texts(seen, segment.key, texts).values() for r in of_output)
        model = edits(store, project_id, signature, segment.key, texts)
        counts += _comparisons(rated, outputs, model)
    return agreement(counts), len(segments)


def overlap_json(comparison: Overlap) -> dict[str, Any]:
    return {
        "p": comparison.precision, "r": comparison.recall, "f": comparison.f, "why": comparison.reason, "n": comparison.comparisons,
        "counts": list(comparison.counts),
    }  # fmt: skip


def layers_json(text: str, refined: str, rated: Sequence[RatedOutput]) -> list[list[Any]]:
    """Return one [text, edited, severity, raters, inserted before it] per piece of text."""
    return [list(layer) for layer in layers(text, refined, [r.errors for r in rated])]
