"""`python -m tests.bench.digests save FILE` and `check FILE`: whether a change of the code moved a number.

Scores, statistics, calibrations, refinements, exports and the output of every command, on the sample project, SummEval and TED talks zh→en, with fixed
seeds and one thread. `save` keeps their digests; `check` computes them again, prints which differ, and ends with status 1 if any does. Equal numbers
are needed from the same machine and libraries only: a model's scores differ in the last digits between processors. Texts
that perturbations make, and what is computed from them, are counted only. What the product offers is called in `tests.bench.product` alone.
"""

from __future__ import annotations

import argparse
import atexit
import os
import platform
import resource
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
for name in [name for name in os.environ if name.startswith("ERRORSCOPE_")]:
    del os.environ[name]
HOME = Path(tempfile.mkdtemp(prefix="digests-"))
atexit.register(shutil.rmtree, HOME, ignore_errors=True)
os.environ |= {"ERRORSCOPE_HOME": str(HOME), "ERRORSCOPE_WORKERS": "1", "COLUMNS": "100", **dict.fromkeys(THREADS, "1")}

from tests.bench import digest_values as values  # noqa: E402
from tests.bench import product  # noqa: E402
from tests.bench.digest_parts import PARTS, Data  # noqa: E402
from tests.bench.digest_values import Digest  # noqa: E402


def computed(only: Sequence[str], say: Callable[[str], object], keep: Path | None = None) -> dict[str, Digest]:
    """Compute the digests of all kinds of parts, or of those named."""
    began = _seconds()
    folder = HOME / "data"
    folder.mkdir()
    data, found = Data(folder), dict[str, Digest]()
    say(f"{_seconds() - began:6.1f} s  projects")
    for kind in PARTS:
        if only and kind.__name__ not in only:
            continue
        before = _seconds()
        for name, result, counted in kind(data):
            found[name] = values.digest(result, counted)
            say(f"{_seconds() - before:6.1f} s  {name}: {sum(map(len, found[name].columns.values())):,} values")
            if isinstance(result, dict) and result.get("status"):
                say(f"          refused: {' '.join(result['stderr']['lines'])[:200]}")
            if keep:
                _keep(keep, name, found[name])
            before = _seconds()
    untried = [c for c in product.commands() if not any(f"commands/{c}" in part for part in found)]
    if not only and untried:
        say(f"commands that no part runs: {', '.join(untried)}")
    say(f"{_seconds() - began:6.1f} s in all")
    return found


def _seconds() -> float:
    """Return the processor time of this process and of those it has run."""
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def _keep(folder: Path, name: str, digest: Digest) -> None:
    """Write all values and texts of a part, so that two folders can be compared with `diff -r`."""
    file = folder / f"{name.replace('|', ' ').replace(':', ' ')}.txt"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(
        "".join(f"{c}\t{leaf!r}\n" for c, leaves in digest.columns.items() for leaf in leaves), encoding="utf-8"
    )


def about() -> dict[str, str]:
    """What numbers depend on beside the code."""
    import torch

    packages = {name: version(name) for name in ("torch", "transformers", "numpy", "scipy", "sacrebleu")}
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "vectors": torch.backends.cpu.get_cpu_capability(),
    } | packages


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.digests", description="Whether a change of the code moved a number."
    )
    parser.add_argument("what", choices=("save", "check"))
    parser.add_argument("file", type=Path, help="file of the digests; compressed if it ends in .xz")
    parser.add_argument(
        "--only",
        default="",
        help=f"only these kinds of parts, with commas; `save` leaves the others in the file as they are: {', '.join(kind.__name__ for kind in PARTS)}",
    )
    parser.add_argument("--tolerance", type=float, default=values.TOLERANCE, help="largest difference of equal numbers")
    parser.add_argument("--numbers", action="store_true", help="compare numbers only, for a change of wording")
    parser.add_argument(
        "--keep",
        type=Path,
        metavar="FOLDER",
        help="also write all values and texts, to compare two folders with diff -r",
    )
    asked = parser.parse_args(arguments)
    only = [name for name in asked.only.split(",") if name]

    def say(line: str) -> None:
        print(line, flush=True)

    before, where = values.load(asked.file) if asked.what == "check" else ({}, {})
    found = computed(only, say, asked.keep)
    if asked.what == "save":
        if only and asked.file.exists():
            found = values.load(asked.file)[0] | found
        values.save(asked.file, found, about())
        say(f"{asked.file}: {len(found)} parts, {asked.file.stat().st_size:,} bytes")
        return 0
    for name, now in about().items():
        if where.get(name) != now:
            say(f"{name}: {where.get(name)} when saved, {now} now; the last digits of scores may differ")
    kept: Mapping[str, Digest] = {n: d for n, d in before.items() if not only or n in found}
    return 0 if values.table(values.compare(kept, found, asked.tolerance, numbers_only=asked.numbers), say) else 1


if __name__ == "__main__":
    sys.exit(main())
