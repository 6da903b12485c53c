"""Inspect a text or each round of a refinement: sub-words, likely alternatives and BARTScore."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from core.refine.result import EditStep, Options, Token, Variant

if TYPE_CHECKING:
    from core.models.architectures.seq2seq import EncodedText, Ids, Seq2SeqScorer

TOP_K = 10


class Round(NamedTuple):
    """The text before one round of the refinement, or the final text.

    `tokens` are its sub-words (without `<s>`, with `</s>` at the end), with offsets in `text` and log probabilities given
    the condition. `alternatives` are the k most probable tokens at each sub-word with their probabilities, without
    special tokens. `score` is BARTScore under the variant, without prompts (≤ 0, higher is better). `step` is the next
    edit, or None.
    """

    text: str
    tokens: tuple[Token, ...]
    alternatives: tuple[tuple[tuple[str, float], ...], ...]
    score: float
    step: EditStep | None


def rounds(
    scorer: Seq2SeqScorer,
    hypothesis: str,
    condition: str,
    variant: Variant,
    options: Options = Options(),  # noqa: B008  (frozen)
) -> tuple[Round, ...]:
    """Refine `hypothesis` and return its text before the first edit and after each edit."""
    from core.refine.engine import Task, refine_all

    [analysis] = refine_all(scorer, [Task(hypothesis, (condition,))], variant, options)
    return replay(scorer, hypothesis, condition, variant, analysis.steps, options.k)


def replay(
    scorer: Seq2SeqScorer, hypothesis: str, condition: str, variant: Variant, steps: Sequence[EditStep], k: int = TOP_K
) -> tuple[Round, ...]:
    """Return the same as `rounds` from known steps (`Refinement.steps`), which is much faster."""
    encoded_condition, out = _condition(scorer, condition, variant), []
    now = _seen(scorer, hypothesis, scorer.encode(hypothesis).ids, encoded_condition, variant, k)
    for step in steps:
        out.append(now.round._replace(step=step))
        possible = [_seen(scorer, step.text, ids, encoded_condition, variant, k) for ids in _edited(scorer, now, step)]
        now = min(possible, key=lambda seen: abs(seen.round.score - step.after))
    return (*out, now.round)


def inspect_text(scorer: Seq2SeqScorer, text: str, condition: str, variant: Variant, k: int = TOP_K) -> Round:
    """Return the tokens, alternatives and score of one text; its `step` is None."""
    return _seen(scorer, text, scorer.encode(text).ids, _condition(scorer, condition, variant), variant, k).round


class _Seen(NamedTuple):
    """A round with its token ids and the ids of the alternatives at each token, `<s>` included."""

    round: Round
    ids: Ids
    near: list[Ids]


def _condition(scorer: Seq2SeqScorer, text: str, variant: Variant) -> EncodedText:
    return scorer.encode(text, "source" if variant == "faithfulness" else "target")


def _seen(
    scorer: Seq2SeqScorer, text: str, ids: Ids, encoded_condition: EncodedText, variant: Variant, k: int
) -> _Seen:
    from core.models.architectures.packed import DecoderRow
    from core.models.pieces import aligned

    own, read = scorer.encode(text), scorer.read([list(encoded_condition.row)])[0]
    hidden = scorer.run([DecoderRow(read, None, 0, scorer.inputs(ids))]).hidden
    skip = len(scorer.starts) - 1
    target_logps, beside, chances = scorer.likely(hidden, [0] * skip + ids, k)
    logps, near, chance = target_logps[skip:], beside[skip:].tolist(), chances[skip:].exp().tolist()
    precision = float(logps.mean())
    if variant in ("precision", "faithfulness"):
        score = precision
    else:
        recall = float(scorer.pairs([[*own.lead, *ids]], [encoded_condition.ids])[0].mean())
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
    """Cache of token texts, with a leading space where a token begins a word."""

    def __init__(self, scorer: Seq2SeqScorer) -> None:
        super().__init__()
        self.decode = scorer.decode
        self.before = [i for i in scorer.encode("a").ids if i not in scorer.special]

    def __missing__(self, token: int) -> str:
        self[token] = word = self.decode([*self.before, token])[len(self.decode(self.before)) :]
        return word


def _edited(scorer: Seq2SeqScorer, now: _Seen, step: EditStep) -> list[Ids]:
    """Return the possible token ids after an edit.

    A step stores the new token as text, and different tokens for parts of a character can have the same text.
    """
    at = scorer.first + step.position
    before, rest = now.ids[:at], now.ids[at + (step.edit != "insert") :]
    if step.edit == "delete":
        return [[*before, *rest]]
    made = [[*before, token, *rest] for token in now.near[at]]
    return [ids for ids in made if scorer.decode(ids) == step.text] or [scorer.encode(step.text).ids]
