"""Who may import whom (docs/decisions/001-house.md), read from the source."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = [
    "formats",
    "text",
    "models",
    "stats",
    "mqm",
    "refine",
    "smart",
    "metrics",
    "calibration",
    "stress",
    "plots",
    "services",
    "commands",
]
BASE = {"data", "errors", "signature", "settings", "ports"}
PAGE_LINES = 160


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def files(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def tops(path: Path) -> set[str]:
    return {name.partition(".")[0] for name in imports(path)}


@pytest.mark.parametrize("path", files("core"), ids=lambda p: str(p.relative_to(ROOT)))
def test_core_knows_neither_screen_nor_database(path: Path) -> None:
    assert not tops(path) & {"streamlit", "sqlalchemy", "alembic", "db", "pages", "app"}


@pytest.mark.parametrize("path", files("db"), ids=lambda p: str(p.relative_to(ROOT)))
def test_the_database_knows_no_screen(path: Path) -> None:
    assert not tops(path) & {"streamlit", "pages", "app"}


@pytest.mark.parametrize("path", [*files("pages"), ROOT / "app.py"], ids=lambda p: str(p.relative_to(ROOT)))
def test_only_the_wiring_reaches_the_database(path: Path) -> None:
    if path.name != "wiring.py":
        assert not tops(path) & {"db", "sqlalchemy", "alembic"}


@pytest.mark.parametrize("path", files("core"), ids=lambda p: str(p.relative_to(ROOT)))
def test_arrows_inside_core_run_one_way(path: Path) -> None:
    parts = path.relative_to(ROOT / "core").parts
    room = parts[0] if len(parts) > 1 else path.stem
    if room in ("__main__", "__init__", "sample"):
        return
    allowed = BASE | (set(ROOMS[: ROOMS.index(room) + 1]) if room in ROOMS else set())
    if room == "services":
        allowed |= {"sample"}
    used = {name.split(".")[1] for name in imports(path) if name.startswith("core.")}
    assert used <= allowed, f"{room} may not import {sorted(used - allowed)}"


@pytest.mark.parametrize("path", sorted((ROOT / "pages").glob("*.py")), ids=lambda p: p.name)
def test_a_page_can_be_read_in_one_go(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= PAGE_LINES


@pytest.mark.parametrize(
    "module", ["core.ports", "core.metrics.registry", "core.services.scoring", "core.mqm.log", "db.store"]
)
def test_light_modules_load_no_torch(module: str) -> None:
    code = (
        f"import {module}, sys; from core.metrics import registry; registry.specs(); sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_nothing_in_the_product_unpickles() -> None:
    for path in [*files("core"), *files("db"), *files("pages")]:
        assert not tops(path) & {"pickle", "joblib", "dill", "shelve", "marshal"}, path
