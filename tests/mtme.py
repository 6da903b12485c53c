"""A folder in mt-metrics-eval's layout, by the facts of its README and of `data.py`: two references, of which one is also a system."""

from __future__ import annotations

import json
from pathlib import Path

SYSTEMS = ("A", "B.1", "C")
DOCS = ("n1", "n1", "n1", "d2", "d2")
HUMAN = {"A": (-1, 0, -5, 0, -2), "B.1": (0, -2, None, -6, -1), "C": (-9, -3, -7, -1, -4), "refB": (0, 0, 0, -1, 0)}
COMET = {"A": (0.5, 0.9, 0.3, 0.7, 0.6), "B.1": (0.8, 0.6, 0.4, 0.2, 0.5), "C": (0.1, 0.4, 0.2, 0.3, 0.25)}
TER = {"A": (0.5, 0.1, 0.7, 0.2, 0.4), "B.1": (0.2, 0.4, 0.6, 0.8, 0.5), "C": (0.9, 0.5, 0.8, 0.6, 0.7)}


def scores(of: dict[str, tuple[float | None, ...]]) -> str:
    return "".join(f"{system}\t{value}\n" for system, values in of.items() for value in values)


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def files() -> dict[str, str]:
    outputs = {
        f"system-outputs/en-de/{s}.txt": "".join(f"{s} {i} says it\n" for i in range(5)) for s in (*SYSTEMS, "refB")
    }
    rating = json.dumps({"errors": [{"start": 0, "end": 1, "category": "Source error", "severity": "major"}]})
    return outputs | {
        "sources/en-de.txt": "one\ntwo\nthree\nfour\nfive\n",
        "sources/zh-en.txt": "other\n",
        "references/en-de.refA.txt": "eins\nzwei\ndrei\nvier\nfünf\n",
        "references/en-de.refB.txt": outputs["system-outputs/en-de/refB.txt"],
        "documents/en-de.docs": "".join(f"news\t{doc}\n" for doc in DOCS),
        "human-scores/en-de.mqm.seg.score": scores(HUMAN),
        "human-scores/en-de.mqm.sys.score": "A -1.6\nB.1 -2.25\nC -4.8\nrefB -.2\n",
        "human-scores/en-de.mqm.domain.score": "news A -1\n",
        "human-scores/en-de.mqm.merged.seg.rating": "".join(f"{s}\t{rating}\tr1\n" * 5 for s in ("A", "C")),
        "metric-scores/en-de/COMET-refA.seg.score": scores(COMET | {"refB": (1, 1, 1, 1, 1)}),
        "metric-scores/en-de/COMET-refB.seg.score": scores(COMET),
        "metric-scores/en-de/QE.v2-src.seg.score": scores(COMET | {"refB": (0, 0, 1, 1, 1)}),
        "metric-scores/en-de/TER-refA.seg.score": scores(TER | {"refB": (0, 0, 0.1, 0.1, 0.1)}),
        "metric-scores/en-de/BLEU-refA.sys.score": "A 30\nB.1 28\nC 20\nrefB 90\n",
        "README.md": "notes\n",
    }
