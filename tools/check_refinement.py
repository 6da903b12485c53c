"""Measure how well a scoring model finds and fixes an error with known position and correction.

    python -m tools.check_refinement --model bundled --pairs pairs.tsv.gz --out figures.json

One content word of a held-out reference is replaced by a content word of another one. The figures are for the model card: the share of
cases where the first edit is on that word, the share where y* equals the reference, and how often a reference given itself is at least as
probable as a system output given the reference.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from core.formats import output
from core.models.architectures.seq2seq import Seq2SeqScorer, load_seq2seq
from core.refine.engine import refine
from core.refine.result import Refinement, Variant
from tools.nli_pairs import held_out, read_lines

WORD = re.compile(r"[A-Za-z]{4,}")
FUNCTION_WORDS = frozenset(
    "about above after again against also among because been before being between both could does down during each even "
    "every from have having here into just less many more most much must only other over same shall should since some such "
    "than that their them then there these they this those through thus until upon very were what when where which while "
    "whom whose will with within without would your yours".split()
)


class Replaced(NamedTuple):
    """A reference, and a copy `damaged` with one word replaced, at code points [start, end)."""

    reference: str
    damaged: str
    start: int
    end: int


def replaced_words(references: list[str], count: int, seed: int) -> list[Replaced]:
    """Return `count` references of 6 to 40 words, each with one content word replaced by one of another reference."""
    rng = np.random.default_rng(seed)
    fit = [r for r in references if 6 <= len(r.split()) <= 40]
    words = sorted({w for r in fit for w in content_words(r)})
    out = []
    for index in rng.permutation(len(fit)):
        reference = fit[index]
        places = [m for m in WORD.finditer(reference) if m[0].lower() not in FUNCTION_WORDS]
        if not places:
            continue
        place = places[rng.integers(len(places))]
        other = words[rng.integers(len(words))]
        if other.lower() == place[0].lower():
            continue
        damaged = reference[: place.start()] + other + reference[place.end() :]
        out.append(Replaced(reference, damaged, place.start(), place.start() + len(other)))
        if len(out) == count:
            break
    return out


def content_words(text: str) -> list[str]:
    return [m[0] for m in WORD.finditer(text) if m[0].lower() not in FUNCTION_WORDS]


def first_edit_hits(refinement: Refinement, case: Replaced) -> bool:
    """Return whether the token of the first round overlaps the replaced word."""
    if not refinement.steps:
        return False
    token = refinement.tokens[refinement.steps[0].position]
    return token.start < case.end and token.end > case.start


def check(
    scorer: Seq2SeqScorer, pairs: list[tuple[str, str]], variant: Variant, count: int, seed: int
) -> dict[str, object]:
    """Return the figures as plain numbers; `pairs` are (reference, system output)."""
    cases = replaced_words(sorted({r for r, _ in pairs}), count, seed)
    refinements = [refine(scorer, c.damaged, [c.reference], variant) for c in cases]
    rng = np.random.default_rng(seed)
    some = [pairs[i] for i in rng.permutation(len(pairs))[:400]]
    ids = [(scorer.encode(r).ids, scorer.encode(h).ids) for r, h in some]
    itself = np.array([p.mean() for p in scorer.pairs([r for r, _ in ids], [r for r, _ in ids])])
    output = np.array([p.mean() for p in scorer.pairs([r for r, _ in ids], [h for _, h in ids])])
    return {
        "variant": variant,
        "seed": seed,
        "replaced": len(cases),
        "first_edit_on_the_word": np.mean(
            [first_edit_hits(f, c) for f, c in zip(refinements, cases, strict=True)]
        ).item(),
        "reference_restored": np.mean(
            [f.refined == c.reference for f, c in zip(refinements, cases, strict=True)]
        ).item(),
        "flagged_non_translation": np.mean([f.non_translation for f in refinements]).item(),
        "pairs": len(some),
        "reference_at_least_as_probable": np.mean(itself >= output).item(),
        "mean_logp_reference": itself.mean().item(),
        "mean_logp_output": output.mean().item(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--model", default="bundled")
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--variant", default="f", choices=["precision", "recall", "f"])
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    output.check([("--pairs", args.pairs)], output.named("--out", args.out))
    rows = [line.split("\t") for line in read_lines(args.pairs) if "\t" in line]
    pairs = [(r[0], r[1]) for r in rows if held_out(r[0]) and r[0].strip() and r[1].strip() and r[0] != r[1]]
    figures = check(load_seq2seq(args.model), pairs, args.variant, args.count, args.seed)
    print(json.dumps(figures, indent=1))
    if args.out:
        output.write_files({args.out: json.dumps(figures, indent=1) + "\n"})


if __name__ == "__main__":
    main()
