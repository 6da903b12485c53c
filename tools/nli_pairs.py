"""Make labelled pairs for the bundled NLI model from plain sentences, with the perturbations of this package.

    python -m tools.nli_pairs --sentences sentences.txt.gz --translations pairs.tsv.gz --without suite.csv.gz --out made.tsv.gz

As in FactCC (Kryściński et al. 2020) and Falsesum (Utama et al. 2022), a pair is a text and a text made from it by a rule that determines
the label. Rules that keep the meaning (the text itself, a rewording, a translation that shares most words with the reference) give
entailment in both directions. Texts in `--without` are excluded. The columns are premise, hypothesis, the three target probabilities, the
kind, and the split: one source sentence in fifty is `dev`, chosen by hash. The same seed gives the same file.
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
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from pathlib import Path
from random import Random
from typing import NamedTuple

import torch

from core.formats import output as files
from core.perturbations import registry
from core.text.edits import Change
from tools.paraphrases import reword

Target = tuple[float, float, float]
"""Entailment, neutral, contradiction, summing to 1."""
E: Target = (1, 0, 0)
N: Target = (0, 1, 0)
C: Target = (0, 0, 1)


class PairRule(NamedTuple):
    """The target for (original, made text), that for the reverse pair, and the number of source texts."""

    forward: Target
    back: Target
    texts: int


LOOSE: Target = (0.9, 0.1, 0)
MISMATCH: Target = (0, 0.25, 0.75)
BROKEN: Target = (0.3, 0.7, 0)
"""Broken language makes the meaning uncertain; no paper defines the answer of an NLI model."""

RULES: dict[str, PairRule] = {
    "name": PairRule(C, C, 1800),
    "negation": PairRule(C, C, 1800),
    "number": PairRule(C, C, 1800),
    "pronoun": PairRule(C, C, 1500),
    "adjective": PairRule(MISMATCH, MISMATCH, 2000),
    "noun": PairRule(MISMATCH, MISMATCH, 2200),
    "verb": PairRule(MISMATCH, MISMATCH, 2200),
    "omission": PairRule(E, N, 1700),
    "addition": PairRule(N, E, 1800),
    "added-fact": PairRule(N, E, 400),
    "lost words": PairRule((0.5, 0.5, 0), N, 1800),
    "typo": PairRule(BROKEN, BROKEN, 2200),
    "agreement": PairRule(BROKEN, BROKEN, 2600),
    "jumble": PairRule((0.1, 0.9, 0), (0.1, 0.9, 0), 1500),
    "identity": PairRule(E, E, 1500),
    "rewording": PairRule(E, E, 5500),
    "translation": PairRule(LOOSE, LOOSE, 5500),
    "far translation": PairRule(N, N, 1000),
    "another sentence": PairRule(N, N, 500),
}
BY_TRANSLATION = 0.25
"""Share of the perturbed references paired with a good translation of the original instead of the original."""
WORDS = (4, 25)
BOTH_WAYS = frozenset({"omission", "addition", "added-fact", "lost words", "translation"})
"""Kinds of which both directions of each pair are used."""


class NliPair(NamedTuple):
    """One row of the file, with its target probabilities."""

    premise: str
    hypothesis: str
    target: Target
    kind: str
    dev: bool


def held_out(text: str) -> bool:
    """Return whether a text is never trained on: one in fifty, chosen by its hash so that every script excludes the same ones."""
    return int(hashlib.sha256(text.strip().encode()).hexdigest(), 16) % 50 == 0


class Sources:
    """The usable sentences, and references with their nearest and farthest translation."""

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
    """Return the words with digits, and whether the text is negated: translations that differ in these are not paraphrases."""
    bag = _WORD.findall(text.lower().replace("’", "'"))
    denies = sum(w in _DENIES or w.endswith("n't") for w in bag) % 2 == 1
    return sorted(w for w in bag if any(c.isdigit() for c in w)), denies


def _nearest(reference: str, outputs: list[str]) -> str:
    bag, facts, size = _bag(reference), _facts(reference), len(reference)
    similar = [
        (share, output)
        for output in outputs
        if 0.5 <= (share := _share(bag, _bag(output))) < 1
        and _facts(output) == facts
        and 0.8 < len(output) / size < 1.25
    ]
    return max(similar)[1] if similar else ""


def _farthest(reference: str, outputs: list[str]) -> str:
    bag = _bag(reference)
    share, worst = min((_share(bag, _bag(output)), output) for output in outputs)
    return worst if share < 0.12 else ""


def made(sources: Sources, seed: int, share: float = 1.0) -> Iterator[NliPair]:
    """Yield all pairs by kind; `share` reduces the numbers of texts in `RULES`, for trials."""
    for kind, rule in RULES.items():
        random = Random(f"{seed} {kind}")
        texts = list({"translation": sources.near, "far translation": sources.far}.get(kind, sources.texts))
        random.shuffle(texts)
        pairs = ((text, other) for text in texts if (other := _other(kind, text, sources, random, seed)))
        for text, other in islice(pairs, round(rule.texts * share)):
            yield from _pairs(kind, rule, text, other, sources, random)


def _pairs(kind: str, rule: PairRule, text: str, other: str, sources: Sources, random: Random) -> Iterator[NliPair]:
    """Yield both directions for the kinds in `BOTH_WAYS`; for other kinds one direction at random."""
    dev, first = held_out(text), text
    if kind in registry.PERTURBATIONS and text in sources.near and random.random() < BY_TRANSLATION:
        first = sources.near[text]
    elif kind in registry.PERTURBATIONS and random.random() < 0.1:
        first = reword(text, random)
    pair = NliPair(first, other, rule.forward, kind, dev)
    back = NliPair(other, first, rule.back, kind, dev)
    if kind in BOTH_WAYS:
        yield from (pair, back)
    else:
        yield pair if random.random() < 0.5 else back


def _other(kind: str, text: str, sources: Sources, random: Random, seed: int) -> str:
    """Return the second text of a pair; "" if there is none for this text."""
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
    outcome = registry.load_perturbation(kind).perturb(text, seed)
    return outcome.text if isinstance(outcome, Change) else ""


def _lost(text: str, random: Random) -> str:
    """Delete up to a fifth of the words, contiguous or scattered, as in the published suite."""
    words = text.split(" ")
    count = random.randint(1, max(1, len(words) // 5))
    if random.random() < 0.5:
        start = random.randrange(len(words) - count)
        gone = set(range(start, start + count))
    else:
        gone = set(random.sample(range(len(words) - 1), count))
    return " ".join(word for i, word in enumerate(words) if i not in gone)


def read_lines(path: Path) -> list[str]:
    """Return the lines of a text file, gzipped or not."""
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")
    return text.replace("\r\n", "\n").split("\n")


def cells(path: Path) -> set[str]:
    """Return all cells of a CSV file."""
    return {cell.strip() for row in csv.reader(read_lines(path)) for cell in row}


def read_made(path: Path) -> list[NliPair]:
    """Read the rows of a file that `write` made."""
    out = []
    for line in filter(None, read_lines(path)[1:]):
        premise, hypothesis, e, n, c, kind, split = line.split("\t")
        out.append(NliPair(premise, hypothesis, (float(e), float(n), float(c)), kind, split == "dev"))
    return out


def write(path: Path, rows: Iterable[NliPair]) -> int:
    """Write a gzipped TSV without a time stamp (the same pairs give the same bytes); return the number of pairs."""
    lines = ["premise\thypothesis\tentailment\tneutral\tcontradiction\tkind\tsplit"]
    for row in rows:
        numbers = "\t".join(f"{value:g}" for value in row.target)
        lines.append(f"{row.premise}\t{row.hypothesis}\t{numbers}\t{row.kind}\t{'dev' if row.dev else 'train'}")
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", mtime=0) as handle:
        handle.write(("\n".join(lines) + "\n").encode("utf-8"))
    files.write_files({path: out.getvalue()})
    return len(lines) - 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=Path, required=True, help="one sentence per line")
    parser.add_argument("--translations", type=Path, required=True, help="TSV: reference, system output")
    parser.add_argument("--without", type=Path, help="CSV of an evaluation suite whose texts are excluded")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--share", type=float, default=1.0, help="share of the pairs to make, for a trial")
    args = parser.parse_args()
    inputs = [("--sentences", args.sentences), ("--translations", args.translations)]
    files.check([*inputs, *files.named("--without", args.without)], [("--out", args.out)])
    sentences = [s for s in read_lines(args.sentences) if "\t" not in s]
    pairs = [(p[0], p[1]) for line in read_lines(args.translations) if len(p := line.split("\t")) >= 2]
    sources = Sources(sentences, pairs, cells(args.without) if args.without else set())
    print(f"{len(sources.texts)} texts, {len(sources.near)} near and {len(sources.far)} far translations", flush=True)
    print(f"{write(args.out, made(sources, args.seed, args.share))} pairs in {args.out}")


def autocast(device: str = "cpu") -> AbstractContextManager[object]:
    """Return bf16 autocast on a GPU and where the processor computes in bf16 (AMX or AVX-512 BF16), else a context that keeps fp32.

    Without these instructions bf16 is emulated: a training step took 3.6 times as long on an AVX-512 processor.
    """
    if device == "cuda":
        return torch.autocast("cuda", dtype=torch.bfloat16)
    can = torch.cpu.get_capabilities()
    if can.get("amx_bf16") or can.get("avx512_bf16"):
        return torch.autocast("cpu", dtype=torch.bfloat16)
    return nullcontext()


if __name__ == "__main__":
    main()
