"""Make labelled pairs for the bundled entailment model out of plain sentences, with the perturbations of this package.

    python -m core.stress.nli_pairs --sentences sentences.txt.gz --translations pairs.tsv.gz --without suite.csv.gz --out made.tsv.gz

As FactCC (Kryściński et al. 2020) and Falsesum (Utama et al. 2022) do: a text and a text made from it by rule, whose relation
is known from the rule. What keeps the meaning (the text itself, a rewording, a translation that shares most words with the
reference) is entailment both ways. Every text of `--without` is kept out. The file says premise, hypothesis, the three
probabilities to learn, the kind, and the split: one source sentence in fifty is `dev`, by its hash. Same seed, same file.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import io
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

from core.formats import output as files
from core.stress import registry
from core.stress.base import Change
from core.stress.rewordings import reword

Target = tuple[float, float, float]
"""Entailment, neutral, contradiction, summing to 1."""
E: Target = (1, 0, 0)
N: Target = (0, 1, 0)
C: Target = (0, 0, 1)


class Rule(NamedTuple):
    """What an original says of the text made from it, what that says of the original, and how many source texts are taken."""

    there: Target
    back: Target
    texts: int


LOOSE: Target = (0.9, 0.1, 0)
MISMATCH: Target = (0, 0.25, 0.75)
BROKEN: Target = (0.3, 0.7, 0)
"""Broken language leaves the meaning half certain; no paper says what an entailment model should answer."""

RULES: dict[str, Rule] = {
    "name": Rule(C, C, 1800),
    "negation": Rule(C, C, 1800),
    "number": Rule(C, C, 1800),
    "pronoun": Rule(C, C, 1500),
    "adjective": Rule(MISMATCH, MISMATCH, 2000),
    "noun": Rule(MISMATCH, MISMATCH, 2200),
    "verb": Rule(MISMATCH, MISMATCH, 2200),
    "omission": Rule(E, N, 1700),
    "addition": Rule(N, E, 1800),
    "added-fact": Rule(N, E, 400),
    "lost words": Rule((0.5, 0.5, 0), N, 1800),
    "typo": Rule(BROKEN, BROKEN, 2200),
    "agreement": Rule(BROKEN, BROKEN, 2600),
    "jumble": Rule((0.1, 0.9, 0), (0.1, 0.9, 0), 1500),
    "identity": Rule(E, E, 1500),
    "rewording": Rule(E, E, 5500),
    "translation": Rule(LOOSE, LOOSE, 5500),
    "far translation": Rule(N, N, 1000),
    "another sentence": Rule(N, N, 500),
}
BY_TRANSLATION = 0.25
"""Share of the perturbed references that stand against a good translation of the original, instead of the original."""
WORDS = (4, 25)
ONE_WAY = frozenset({"omission", "addition", "added-fact", "lost words"})


class Made(NamedTuple):
    """One row of the file."""

    premise: str
    hypothesis: str
    target: Target
    kind: str
    dev: bool


def held_out(text: str) -> bool:
    """One source text in fifty, chosen by its hash."""
    return int(hashlib.sha256(text.strip().encode()).hexdigest(), 16) % 50 == 0


class Sources:
    """Sentences that may be used, references with their best translation, and with their worst."""

    def __init__(self, sentences: Iterable[str], translations: Iterable[tuple[str, str]], without: set[str]) -> None:
        outputs: dict[str, list[str]] = defaultdict(list)
        for reference, output in translations:
            if _usable(reference, without) and _usable(output, without):
                outputs[reference].append(output)
        self.near = {r: best for r, group in outputs.items() if (best := _nearest(r, group))}
        self.far = {r: worst for r, group in outputs.items() if (worst := _farthest(r, group))}
        self.texts = sorted({*outputs, *(s for s in sentences if _usable(s, without))})


def _usable(text: str, without: set[str]) -> bool:
    return WORDS[0] <= text.count(" ") + 1 <= WORDS[1] and text.strip() not in without


_WORD = re.compile(r"\w+(?:['’]\w+)?")
_DENIES = frozenset("not no never none nobody nothing neither nor without cannot hardly".split())


def _bag(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


def _share(a: set[str], b: set[str]) -> float:
    return len(a & b) / len(a | b) if a | b else 0.0


def _facts(text: str) -> tuple[list[str], bool]:
    """Digits that stand there, and whether it denies: translations that differ in these are no paraphrases."""
    bag = _WORD.findall(text.lower().replace("’", "'"))
    denies = sum(w in _DENIES or w.endswith("n't") for w in bag) % 2 == 1
    return sorted(w for w in bag if any(c.isdigit() for c in w)), denies


def _nearest(reference: str, outputs: list[str]) -> str:
    bag, facts, size = _bag(reference), _facts(reference), len(reference)
    found = [
        (share, output)
        for output in outputs
        if 0.5 <= (share := _share(bag, _bag(output))) < 1
        and _facts(output) == facts
        and 0.8 < len(output) / size < 1.25
    ]
    return max(found)[1] if found else ""


def _farthest(reference: str, outputs: list[str]) -> str:
    bag = _bag(reference)
    share, worst = min((_share(bag, _bag(output)), output) for output in outputs)
    return worst if share < 0.12 else ""


def made(sources: Sources, seed: int, share: float = 1.0) -> Iterator[Made]:
    """All pairs, kind by kind; `share` of the numbers of texts in `RULES`, for trials."""
    for kind, rule in RULES.items():
        random = Random(f"{seed} {kind}")
        texts = list({"translation": sources.near, "far translation": sources.far}.get(kind, sources.texts))
        random.shuffle(texts)
        left = round(rule.texts * share)
        for text in texts:
            if not left:
                break
            if other := _other(kind, text, sources, random, seed):
                left -= 1
                yield from _pairs(kind, rule, text, other, sources, random)


def _pairs(kind: str, rule: Rule, text: str, other: str, sources: Sources, random: Random) -> Iterator[Made]:
    """Both ways where they differ in their label, and for what is the same; else one way, by lot."""
    dev, first = held_out(text), text
    if kind in registry.PERTURBATIONS and text in sources.near and random.random() < BY_TRANSLATION:
        first = sources.near[text]
    elif kind in registry.PERTURBATIONS and random.random() < 0.1:
        first = reword(text, random)
    there = Made(first, other, rule.there, kind, dev)
    back = Made(other, first, rule.back, kind, dev)
    if kind in ONE_WAY or kind in ("translation",):
        yield from (there, back)
    else:
        yield there if random.random() < 0.5 else back


def _other(kind: str, text: str, sources: Sources, random: Random, seed: int) -> str:
    """The second text; "" where this one yields none."""
    if kind == "identity":
        return text
    if kind == "rewording":
        new = reword(text, random)
        return new if new != text else ""
    if kind == "translation":
        return sources.near[text]
    if kind == "far translation":
        return sources.far[text]
    if kind == "another sentence":
        return random.choice([t for t in random.sample(sources.texts, 4) if t != text])
    if kind == "lost words":
        return _lost(text, random)
    outcome = registry.load(kind).perturb(text, seed)
    return outcome.text if isinstance(outcome, Change) else ""


def _lost(text: str, random: Random) -> str:
    """Up to a fifth of the words gone, together or scattered, as in the published suite."""
    words = text.split(" ")
    count = random.randint(1, max(1, len(words) // 5))
    if random.random() < 0.5:
        start = random.randrange(len(words) - count)
        gone = set(range(start, start + count))
    else:
        gone = set(random.sample(range(len(words) - 1), count))
    return " ".join(word for i, word in enumerate(words) if i not in gone)


def read_lines(path: Path) -> list[str]:
    """Lines of a text file, gzipped or not, as they stand."""
    with open(path, "rb") as handle:
        raw = handle.read()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")
    return text.replace("\r\n", "\n").split("\n")


def cells(path: Path) -> set[str]:
    """Every cell of a CSV file."""
    return {cell.strip() for row in csv.reader(read_lines(path)) for cell in row}


def read_made(path: Path) -> list[Made]:
    """The rows of a file that `write` made."""
    out = []
    for line in filter(None, read_lines(path)[1:]):
        premise, hypothesis, e, n, c, kind, split = line.split("\t")
        out.append(Made(premise, hypothesis, (float(e), float(n), float(c)), kind, split == "dev"))
    return out


def write(path: Path, rows: Iterable[Made]) -> int:
    """A gzipped TSV without a time stamp, so that the same pairs are the same bytes."""
    lines = ["premise\thypothesis\tentailment\tneutral\tcontradiction\tkind\tsplit"]
    for row in rows:
        numbers = "\t".join(f"{value:g}" for value in row.target)
        lines.append(f"{row.premise}\t{row.hypothesis}\t{numbers}\t{row.kind}\t{'dev' if row.dev else 'train'}")
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", mtime=0) as handle:
        handle.write(("\n".join(lines) + "\n").encode("utf-8"))
    files.write({path: out.getvalue()})
    return len(lines) - 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=Path, required=True, help="one a line")
    parser.add_argument("--translations", type=Path, required=True, help="TSV: reference, system output")
    parser.add_argument("--without", type=Path, help="CSV of an evaluation suite: none of its texts is used")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--share", type=float, default=1.0, help="of the pairs, for a trial")
    args = parser.parse_args()
    inputs = [("--sentences", args.sentences), ("--translations", args.translations)]
    files.check([*inputs, *files.named("--without", args.without)], [("--out", args.out)])
    sentences = [s for s in read_lines(args.sentences) if "\t" not in s]
    pairs = [(p[0], p[1]) for line in read_lines(args.translations) if len(p := line.split("\t")) >= 2]
    sources = Sources(sentences, pairs, cells(args.without) if args.without else set())
    print(f"{len(sources.texts)} texts, {len(sources.near)} near and {len(sources.far)} far translations", flush=True)
    print(f"{write(args.out, made(sources, args.seed, args.share))} pairs in {args.out}")


if __name__ == "__main__":
    main()
