"""Frequent n-gram test (He et al. 2023, section 5.3 and appendix G): word salad of the most frequent n-grams."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache, partial
from itertools import pairwise
from random import Random

from core.perturbations.noise.base import Noise, NoiseContext, NoiseLevel
from core.text.edits import Edit, Outcome, Refused, changed
from core.text.words import is_unspaced, units, words

TOP = (10, 50, 100)
Gram = tuple[str, ...]


@lru_cache(maxsize=16)
def ranked(texts: tuple[str, ...], n: int) -> tuple[Gram, ...]:
    """Return the n-grams of the texts, most frequent first, ties in alphabetical order. A repeated text counts once.

    Tokens are lower-case words; punctuation is ignored.
    """
    counts: Counter[Gram] = Counter()
    for text in dict.fromkeys(texts):
        said = [text[start:end].lower() for start, end in words(text)]
        counts.update(tuple(said[i : i + n]) for i in range(len(said) - n + 1))
    return tuple(sorted(counts, key=lambda gram: (-counts[gram], gram)))


def _salad(n: int, text: str, strength: float, random: Random, context: NoiseContext) -> Outcome:
    length, top = len(units(text)), int(strength)
    if not length:
        return Refused("no token in the text")
    there = ranked(context.texts, n)
    if len(there) < top:
        return Refused(f"the texts contain only {len(there)} different {n}-grams, {top} are needed")
    tokens: list[str] = []
    while len(tokens) < length:
        tokens += random.choice(there[:top])
    return changed(text, [Edit(0, len(text), joined(tokens[:length]))])


def joined(tokens: list[str]) -> str:
    """Return the tokens joined by spaces, without a space between two tokens of unspaced scripts."""
    out = tokens[:1]
    for left, right in pairwise(tokens):
        out.append(right if is_unspaced(left[-1]) and is_unspaced(right[0]) else " " + right)
    return "".join(out)


def _noise(n: int) -> Noise:
    return Noise(
        name=f"frequent-{n}gram",
        label=f"Frequent {n}-grams",
        aspect="special",
        help=f"Replaces the output with random {n}-grams from the most frequent ones, up to the same number of tokens. They are counted on "
        "the texts of this test, without punctuation and in lower case; with few texts, some of the top 100 occur only once.",
        make=partial(_salad, n),
        levels=tuple(NoiseLevel(k, f"top-{k}") for k in TOP),
        graded=False,
        needs=frozenset({"others"}),
    )


FOUR = _noise(4)
THREE = _noise(3)
