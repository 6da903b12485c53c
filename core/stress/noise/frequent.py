"""The frequent n-gram test (He et al. 2023, section 5.3 and appendix G): word salad out of what language models expect most."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache, partial
from itertools import pairwise
from random import Random

from core.stress.base import Outcome, Refused, changed
from core.stress.noise.base import Beside, Edit, Level, Noise
from core.text.words import is_unspaced, units, words

TOP = (10, 50, 100)
Gram = tuple[str, ...]


@lru_cache(maxsize=16)
def ranked(texts: tuple[str, ...], n: int) -> tuple[Gram, ...]:
    """The n-grams of the texts by frequency, the most frequent first, equals by their letters; a text that is there twice counts once.

    Tokens are words in lower case, as if there were no punctuation.
    """
    counts: Counter[Gram] = Counter()
    for text in dict.fromkeys(texts):
        said = [text[start:end].lower() for start, end in words(text)]
        counts.update(tuple(said[i : i + n]) for i in range(len(said) - n + 1))
    return tuple(sorted(counts, key=lambda gram: (-counts[gram], gram)))


def _salad(n: int, text: str, strength: float, random: Random, beside: Beside) -> Outcome:
    length, top = len(units(text)), int(strength)
    if not length:
        return Refused("no token in it")
    there = ranked(beside.texts, n)
    if len(there) < top:
        return Refused(f"the texts hold only {len(there)} different {n}-grams, {top} are needed")
    tokens: list[str] = []
    while len(tokens) < length:
        tokens += random.choice(there[:top])
    return changed(text, [Edit(0, len(text), joined(tokens[:length]))])


def joined(tokens: list[str]) -> str:
    """The tokens with spaces between, none where both neighbours are written without."""
    out = tokens[:1]
    for left, right in pairwise(tokens):
        out.append(right if is_unspaced(left[-1]) and is_unspaced(right[0]) else " " + right)
    return "".join(out)


def _noise(n: int) -> Noise:
    return Noise(
        name=f"frequent-{n}gram",
        family="frequent",
        label=f"Frequent {n}-grams",
        aspect="special",
        paper="He et al. 2023, section 5.3 and appendix G",
        help=f"The output gives way to {n}-grams drawn at random from the most frequent ones, as many tokens as it has. They are counted on "
        "the texts of this test themselves, without punctuation and in lower case: in few texts the top 100 hold some that occur once.",
        make=partial(_salad, n),
        levels=tuple(Level(k, f"top-{k}") for k in TOP),
        graded=False,
        needs=frozenset({"others"}),
    )


FOUR = _noise(4)
THREE = _noise(3)
