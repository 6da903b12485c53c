"""Record the scores of the sample project: `python -m tools.record_sample`.

Runs the standard metrics over the sample with the model that the settings name and writes `core/sample/scores.jsonl.gz`,
one line per value: {metric, signature, key, value, status, reason, parts, detail}. The file is reproducible byte by byte.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from core.errors import UserError
from core.formats import output
from core.metrics import registry
from core.metrics.base import Metric
from core.scoring.dataset import score_dataset
from core.scoring.values import InMemoryScores, ScoringProgress
from core.services.projects.sample import LABELS, SCORES, SEGMENTS, dataset


def record(metrics: Sequence[Metric], out: Path) -> int:
    """Score the sample, write the file and return the number of values. Raises `UserError` and writes nothing if a metric fails."""
    output.check(output.named("the sample", SEGMENTS, LABELS), [("--out", out)])
    memory = InMemoryScores()
    results = score_dataset(dataset(), metrics, memory, _show)
    for scored in results:
        if scored.failed:
            raise UserError("a metric failed", where=scored.metric, got=scored.reason, hint="Nothing was written")
    rows = [
        {
            "metric": scored.metric,
            "signature": scored.signature,
            "key": key,
            "value": v.value,
            "status": v.status,
            "reason": v.reason,
            "parts": dict(v.parts),
            "detail": v.detail,
        }
        for scored in results
        for key, v in sorted(memory.by_signature.get(scored.signature, {}).items())
    ]
    text = "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)
    output.write_files({out: gzip.compress(text.encode("utf-8"), mtime=0)})
    return len(rows)


def _show(at: ScoringProgress) -> None:
    if sys.stderr.isatty():
        print(f"\r{at.sentence():<79}", end="", file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.record_sample", description="Record the scores of the sample project."
    )
    parser.add_argument(
        "--metrics", default=",".join(registry.STANDARD), help="names with commas; default: the standard ones"
    )
    parser.add_argument("--out", type=Path, default=SCORES, help="file to write")
    options = parser.parse_args(arguments)
    try:
        n = record(registry.chosen(options.metrics.split(",")), options.out)
    except UserError as error:
        print(f"\n{error}", file=sys.stderr)
        return 2
    print(f"\n{n} values, {options.out.stat().st_size / 1024:.0f} KB in {options.out}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
