"""Time and peak memory of importing and exporting large files: `python -m tests.bench.streams`.

Each file is imported into a new database and exported again by the command, in processes of their own. Their processor time is printed
beside the time on the clock, which other programs on the machine lengthen. The last lines are ratios between the sizes: 10 is linear.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.paths import ROOT

SYSTEMS = 20
WORDS = ("the committee discussed this proposal again on Friday and adopted it " * 3)[:100]
MEASURED = re.compile(r"^measured (\d+) ([\d.]+)$", re.MULTILINE)
CODE = (
    "import resource as r, sys; from tests.cli.program import status_of; assert status_of('projects', *sys.argv[1:]) == 0; u = r.getrusage(r.RUSAGE_SELF); "
    "print('measured', u.ru_maxrss, u.ru_utime + u.ru_stime)"
)
STEPS = (
    "import CSV",
    "import Parquet",
    "export outputs-csv",
    "export outputs-jsonl",
    "export outputs-parquet",
    "export outputs-arrow",
)


def write(path: Path, outputs: int) -> None:
    """Write a table of 20 systems with texts of about 120 characters and one reference per segment."""
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow("doc_id segment_id source reference system output".split())
        for i in range(outputs // SYSTEMS):
            for s in range(SYSTEMS):
                texts = f"Source {i}: {WORDS}", f"Reference {i}: {WORDS}", f"system {s}", f"Output {s}/{i}, {WORDS}"
                rows.writerow((f"document {i // 50}", f"{i}", *texts))


def run(arguments: Sequence[str]) -> tuple[float, float, float]:
    """Run the command in a process; return its seconds, its processor seconds, and its peak memory in MB."""
    began = time.perf_counter()
    ended = subprocess.run(
        [sys.executable, "-c", CODE, *arguments], cwd=ROOT, capture_output=True, text=True, env=os.environ, check=True
    )
    took = time.perf_counter() - began
    found = MEASURED.search(ended.stdout)
    assert found is not None, ended.stdout
    return took, float(found[2]), int(found[1]) / 1024


def measure(folder: Path, outputs: int, database: str) -> list[tuple[float, float, float]]:
    table, parquet = folder / f"{outputs}.csv", folder / f"{outputs}.parquet"
    write(table, outputs)
    name, now, then = f"{outputs} {time.time_ns()}", ["--database", database], ["--database", database]
    if not database:
        now, then = (["--database", f"sqlite:///{folder}/{outputs} {kind}.db"] for kind in ("csv", "parquet"))
    found = [run([*now, "import", str(table), "--name", name])]
    table.unlink()
    run([*now, "export", name, "outputs-parquet", str(parquet)])
    found.append(run([*then, "import", str(parquet), "--name", f"{name} again"]))
    for step in STEPS[2:]:
        out = folder / "out"
        found.append(run([*now, "export", name, step.split()[1], str(out)]))
        out.unlink()
    for step, (seconds, processor, memory) in zip(STEPS, found, strict=True):
        print(
            f"{outputs:>9,} outputs  {step:22} {seconds:6.1f} s  {processor:6.1f} s of processor  {memory:4.0f} MB",
            flush=True,
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", default="", help="an SQLAlchemy URL; new SQLite files if it is not given")
    parser.add_argument("--outputs", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="errorscope-streams-") as folder:
        by_size = [measure(Path(folder), outputs, args.database) for outputs in args.outputs]
    for small, large, n, m in zip(by_size, by_size[1:], args.outputs, args.outputs[1:], strict=False):
        for step, before, after in zip(STEPS, small, large, strict=True):
            print(
                f"{n:,} → {m:,}: {step:22} time × {after[0] / before[0]:.1f}, processor × {after[1] / before[1]:.1f}, memory × {after[2] / before[2]:.2f}"
            )


if __name__ == "__main__":
    main()
