"""The repository, and the data beside it that some tests need."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
CASES = ROOT.parent / "shared" / "cases"
APP = str(ROOT / "app.py")
