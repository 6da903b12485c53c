"""Training cases of the bundled BART: what the encoder reads, a damaged prefix for the decoder, and the label at each position."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

BOS, PAD, EOS, UNK, MASK = range(5)
IGNORE = -100


@dataclass(frozen=True)
class BartTrainingSettings:
    """All hyperparameters. The shares of the training cases are drawn in the order of the fields; the rest are rewordings."""

    vocabulary: int = 8000
    d_model: int = 256
    layers: int = 3
    heads: int = 4
    feed_forward: int = 1024
    positions: int = 1024
    steps: int = 8000
    minutes: float | None = None
    batch_tokens: int = 1800
    learning_rate: float = 1.2e-3
    warmup: int = 400
    seed: int = 13
    copy: float = 0.42
    denoise: float = 0.08
    extract: float = 0.03
    gibberish: float = 0.03
    word_errors: float = 0.06
    token_errors: float = 0.04
    cut_short: float = 0.04
    renamed: float = 0.35


SHARES = ("copy", "denoise", "extract", "gibberish", "word_errors", "token_errors", "cut_short", "renamed")
"""The settings that are shares of the cases, words or tokens."""


Tokens = list[int]


class Corpus:
    """Sentences as token lists, with words, made-up names and tokens to damage them."""

    def __init__(self, pairs: list[tuple[Tokens, Tokens]], sentences: list[Tokens], starts_word: np.ndarray) -> None:
        self.pairs, self.sentences, self.starts_word = pairs, sentences, starts_word
        self.word_list = [w for s in sentences[:12000] for w in self.words(s)[1:]]
        self.inner = np.flatnonzero(~starts_word)
        self.inner = self.inner[self.inner > MASK]
        self.initial = np.flatnonzero(starts_word)

    def words(self, tokens: Tokens) -> list[Tokens]:
        out: list[Tokens] = []
        for token in tokens:
            if out and not self.starts_word[token]:
                out[-1].append(token)
            else:
                out.append([token])
        return out

    def name(self, rng: np.random.Generator) -> Tokens:
        """Return a made-up word: a word-initial token and up to three inner ones."""
        return [int(rng.choice(self.initial)), *map(int, rng.choice(self.inner, rng.integers(0, 4)))]

    def rename(self, first: Tokens, second: Tokens, rng: np.random.Generator) -> tuple[Tokens, Tokens]:
        """Replace one to three words that both texts share by the same made-up name in both."""
        a, b = self.words(first), self.words(second)
        shared = sorted({tuple(w) for w in a[1:]} & {tuple(w) for w in b[1:]})
        if not shared:
            return first, second
        for index in rng.choice(len(shared), min(len(shared), int(rng.integers(1, 4))), replace=False):
            old, new = list(shared[index]), self.name(rng)
            a, b = [new if w == old else w for w in a], [new if w == old else w for w in b]
        return sum(a, []), sum(b, [])


def damaged_prefix(
    target: Tokens, corpus: Corpus, s: BartTrainingSettings, rng: np.random.Generator
) -> tuple[Tokens, Tokens]:
    """Return decoder inputs and labels of the same length, with errors in the inputs.

    The label at each position is the next token of `target`, given where the prefix deviates from it; positions inside a wrong word have
    no correct label and are excluded from the loss. A long word is sometimes truncated in both, so that fixing a word sub-word by
    sub-word costs less on the way than omitting it.
    """
    inputs: Tokens = []
    labels: Tokens = []
    owed: int | None = None  # a deleted token that should have come next

    def say(token: int, label: int) -> None:
        nonlocal owed
        labels.append(label if owed is None else owed)
        inputs.append(token)
        owed = None

    def wrong(tokens: Tokens, right: int) -> None:
        say(tokens[0], right)
        for token in tokens[1:]:
            say(token, IGNORE)

    for word in corpus.words(target):
        if len(word) > 1 and rng.random() < s.cut_short:
            word = word[: rng.integers(1, len(word))]
        if rng.random() < s.word_errors:
            kind = rng.integers(0, 4)
            other = corpus.name(rng) if rng.random() < 0.3 else corpus.word_list[rng.integers(len(corpus.word_list))]
            if kind == 0 and owed is None:
                owed = word[0]
                continue
            wrong(other, word[0])
            if kind != 1:
                continue
        for token in word:
            if rng.random() < s.token_errors:
                kind = rng.integers(0, 4)
                noise = int(rng.integers(MASK + 1, len(corpus.starts_word)))
                if kind == 0 and owed is None:
                    owed = token
                    continue
                say(noise, token)
                if kind != 1:
                    continue
            say(token, token)
    labels.append(EOS if owed is None else owed)
    return [EOS, BOS, *inputs], [BOS, *labels]


def noised(tokens: Tokens, corpus: Corpus, rng: np.random.Generator) -> Tokens:
    """Apply BART's noise to the encoder input: mask words, drop words, swap neighbouring groups."""
    words = [[MASK] if u < 0.12 else w for w in corpus.words(tokens) if (u := rng.random()) < 0.92]
    if len(words) > 6 and rng.random() < 0.3:
        cut = sorted(rng.choice(len(words), 3, replace=False))
        words = words[: cut[0]] + words[cut[1] : cut[2]] + words[cut[0] : cut[1]] + words[cut[2] :]
    return sum(words, [])


def example(corpus: Corpus, s: BartTrainingSettings, rng: np.random.Generator) -> tuple[Tokens, Tokens, Tokens]:
    """Return (encoder tokens, decoder inputs, labels) of one training case."""
    draw = rng.random()
    pick = corpus.sentences[rng.integers(len(corpus.sentences))]
    if draw < s.copy:
        first = second = pick
    elif draw < s.copy + s.denoise:
        first, second = noised(pick, corpus, rng), pick
    elif draw < s.copy + s.denoise + s.extract:
        others = [corpus.sentences[i] for i in rng.integers(len(corpus.sentences), size=rng.integers(3, 20))]
        others.insert(int(rng.integers(len(others) + 1)), pick)
        first, second = sum(others, []), pick
        if len(first) > s.positions - 4:
            first = pick
    elif draw < s.copy + s.denoise + s.extract + s.gibberish:
        first = second = list(map(int, rng.integers(MASK + 1, s.vocabulary, rng.integers(2, 40))))
    else:
        first, second = corpus.pairs[rng.integers(len(corpus.pairs))]
        if rng.random() < 0.5:
            first, second = second, first
    if rng.random() < s.renamed:
        first, second = corpus.rename(first, second, rng)
    inputs, labels = damaged_prefix(second, corpus, s, rng)
    return [BOS, *first, EOS], inputs, labels
