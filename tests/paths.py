"""The repository, and the data beside it that some tests need."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
CASES = ROOT.parent / "shared" / "cases"
APP = str(ROOT / "app.py")


def needed_data(name: str) -> Path:
    """Return a file of the data that a benchmark cannot do without; end the program if it is not there."""
    if not (DATA / name).exists():
        sys.exit(f"error: this benchmark needs the file {DATA / name}, which is not part of the repository.")
    return DATA / name
