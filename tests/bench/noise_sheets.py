"""Writes sheets for people who read noises: 200 texts per noise, each with its edits in place as {old→new}.

Usage: python -m tests.bench.noise_sheets FOLDER [SEED] [NOISE …]. Of ten texts seven are SummEval summaries (references and outputs) and three
are passages of three news and encyclopedia sentences. Without noises named: all that work on the text alone. The weakest level is
taken, which makes one edit or exchange in most texts; a noise of the fluency kind gets its levels in turn.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from random import Random

from core.perturbations.base import Noise, NoiseContext, TextPool
from core.perturbations.registry import noise, noises
from core.text.edits import Change
from tests.bench.listing import shown
from tests.paths import needed_data

CASES = 200


def texts(seed: int) -> list[str]:
    """800 texts in random order, many more than 200, so that refused ones are replaced."""
    random = Random(seed)
    with gzip.open(needed_data("summeval.jsonl.gz"), "rt", encoding="utf-8") as lines:
        documents = [json.loads(line) for line in lines]
    summaries = [
        text
        for d in documents
        for text in random.sample(d["references"], 3) + random.sample([o["text"] for o in d["outputs"].values()], 3)
    ]
    with gzip.open(needed_data("training/sentences.txt.gz"), "rt", encoding="utf-8") as file:
        sentences = [s for s in file.read().splitlines() if 40 <= len(s) <= 300]
    random.shuffle(summaries)
    passages = [" ".join(random.sample(sentences, 3)) for _ in range(len(summaries) // 7 * 3)]
    return [
        passages.pop() if i % 10 in (3, 6, 9) else summaries.pop() for i in range(len(passages) + len(summaries) - 10)
    ]


def sheet(n: Noise, pool: list[str], seed: int) -> str:
    context = NoiseContext(None, TextPool(pool))
    cases: list[str] = []
    for i, text in enumerate(pool):
        level = n.levels[i % len(n.levels)] if n.aspect == "fluency" else n.levels[0]
        made = n.noised(text, level.strength, seed, context)
        if isinstance(made, Change):
            cases.append(f"{len(cases) + 1}. [{level.label}] {' '.join(shown(text, made).split())}")
        if len(cases) == CASES:
            break
    return f"# {n.name}: {n.help}\n# {len(cases)} cases from {i + 1} texts\n\n" + "\n\n".join(cases) + "\n"


if __name__ == "__main__":
    folder, seed, names = Path(sys.argv[1]), int((sys.argv[2:] or ["1"])[0]), sys.argv[3:]
    folder.mkdir(parents=True, exist_ok=True)
    pool = texts(seed)
    for n in [noise(name) for name in names] or [n for n in noises() if n.aspect != "special" and not n.model]:
        (folder / f"{n.name}.txt").write_text(sheet(n, pool, seed), encoding="utf-8")
