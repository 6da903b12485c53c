"""The refinement step by step, and any text looked at as the model sees it: each sub-word, what else was likely, BARTScore."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from core.refine.options import Options
from core.refine.result import Step, Token, Variant

if TYPE_CHECKING:
    from core.models.seq2seq import Encoded, Ids, Seq2SeqScorer

TOP_K = 10


class Round(NamedTuple):
    """A text before one round of the refinement, or the last one.

    `tokens` are its sub-words (`<s>` left out, `</s>` at the end) with code points of `text` and log probabilities given
    the condition; `alternatives` are, for each of them, the k most probable tokens at that place with their
    probabilities, special tokens left out. `score` is BARTScore under the variant, without prompts (≤ 0, higher is
    better). `step` is the edit that was made next, None where there was none.
    """

    text: str
    tokens: tuple[Token, ...]
    alternatives: tuple[tuple[tuple[str, float], ...], ...]
    score: float
    step: Step | None


def rounds(
    scorer: Seq2SeqScorer,
    hypothesis: str,
    condition: str,
    variant: Variant,
    options: Options = Options(),  # noqa: B008  (frozen)
) -> tuple[Round, ...]:
    """The refinement of `hypothesis`, done anew: the text as it is, then after every edit, to the refined text."""
    from core.refine.engine import Task, refine_all

    [analysis] = refine_all(scorer, [Task(hypothesis, (condition,))], variant, options)
    return follow(scorer, hypothesis, condition, variant, analysis.steps, options.k)


def follow(
    scorer: Seq2SeqScorer, hypothesis: str, condition: str, variant: Variant, steps: Sequence[Step], k: int = TOP_K
) -> tuple[Round, ...]:
    """As `rounds`, along a trace that is known already (`Refinement.steps`); much quicker than refining."""
    given, out = _condition(scorer, condition, variant), []
    now = _seen(scorer, hypothesis, scorer.encode(hypothesis).ids, given, variant, k)
    for step in steps:
        out.append(now.round._replace(step=step))
        possible = [_seen(scorer, step.text, ids, given, variant, k) for ids in _edited(scorer, now, step)]
        now = min(possible, key=lambda seen: abs(seen.round.score - step.after))
    return (*out, now.round)


def look(scorer: Seq2SeqScorer, text: str, condition: str, variant: Variant, k: int = TOP_K) -> Round:
    """One text as it is read and scored; it has no next edit."""
    return _seen(scorer, text, scorer.encode(text).ids, _condition(scorer, condition, variant), variant, k).round


class _Seen(NamedTuple):
    """A round with its tokens as ids, and the ids of the alternatives at every one of them, `<s>` included."""

    round: Round
    ids: Ids
    near: list[Ids]


def _condition(scorer: Seq2SeqScorer, text: str, variant: Variant) -> Encoded:
    return scorer.encode(text, "source" if variant == "faithfulness" else "target")


def _seen(scorer: Seq2SeqScorer, text: str, ids: Ids, given: Encoded, variant: Variant, k: int) -> _Seen:
    from core.models.packed import Row
    from core.models.spans import aligned

    own, read = scorer.encode(text), scorer.read([[*given.lead, *given.ids]])[0]
    hidden = scorer.run([Row(read, None, 0, scorer.inputs(ids))]).hidden
    skip = len(scorer.starts) - 1
    found, beside, chances = scorer.likely(hidden, [0] * skip + ids, k)
    logps, near, chance = found[skip:], beside[skip:].tolist(), chances[skip:].exp().tolist()
    precision = float(logps.mean())
    if variant in ("precision", "faithfulness"):
        score = precision
    else:
        recall = float(scorer.pairs([[*own.lead, *ids]], [given.ids])[0].mean())
        score = recall if variant == "recall" else (precision + recall) / 2
    words, first = _Words(scorer), scorer.first
    offsets = own.offsets[first:] if own.ids == ids else aligned(text, [words[i] for i in ids[first:]])
    places = [*offsets[:-1], (len(text), len(text))]
    tokens = tuple(Token(text[a:b], a, b, float(p)) for (a, b), p in zip(places, logps[first:], strict=True))
    alternatives = tuple(
        tuple((words[i], p) for i, p in zip(*of_token, strict=True)) for of_token in zip(near, chance, strict=True)
    )
    return _Seen(Round(text, tokens, alternatives[first:], score, None), ids, near)


class _Words(dict[int, str]):
    """Tokens as text, with the blank before them where they begin a word."""

    def __init__(self, scorer: Seq2SeqScorer) -> None:
        super().__init__()
        self.decode = scorer.decode
        self.before = [i for i in scorer.encode("a").ids if i not in scorer.special]

    def __missing__(self, token: int) -> str:
        self[token] = word = self.decode([*self.before, token])[len(self.decode(self.before)) :]
        return word


def _edited(scorer: Seq2SeqScorer, now: _Seen, step: Step) -> list[Ids]:
    """The tokens after an edit. The trace holds the new token as text; those parts of characters that look alike are
    several possibilities."""
    at = scorer.first + step.position
    before, rest = now.ids[:at], now.ids[at + (step.edit != "insert") :]
    if step.edit == "delete":
        return [[*before, *rest]]
    made = [[*before, token, *rest] for token in now.near[at]]
    return [ids for ids in made if scorer.decode(ids) == step.text] or [scorer.encode(step.text).ids]
