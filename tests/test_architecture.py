"""Who may import whom (docs/decisions/001-layout.md), read from the source."""

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

from tests.paths import ROOT

ROOMS = [
    "processes",
    "text",
    "english",
    "stats",
    "spans",
    "formats",
    "models",
    "mqm",
    "refine",
    "smart",
    "metrics",
    "judges",
    "calibration",
    "scoring",
    "perturbations",
    "robustness",
    "campaigns",
    "plots",
    "services",
    "reports",
]
BASE = {
    "browser_scripts",
    "columns",
    "data",
    "formatting",
    "errors",
    "memory",
    "signature",
    "settings",
    "progress",
    "ports",
}
PACKAGES = ("core", "cli", "db", "api", "pages", "tools")
PAGE_LINES = 160
MODULE_LINES = 400
LONG_MODULES = {
    "core/formats/columns.py",
    "core/formats/table.py",
    "core/services/projects/importing.py",
    "db/labels/repository.py",
    "db/migrations/versions/0025_first.py",
    "db/tables.py",
}
"""Modules that are read as one: each is a list of its kind, or one table."""
MODULES_PER_FOLDER = 20


@cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


@cache
def imports(path: Path) -> frozenset[str]:
    found: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(found)


def imports_of_modules() -> dict[str, set[str]]:
    """Return the modules that each module imports when it is loaded."""
    paths = {".".join(p.relative_to(ROOT).with_suffix("").parts): p for folder in PACKAGES for p in files(folder)}
    graph: dict[str, set[str]] = {}
    for module, path in paths.items():
        graph[module] = set()
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom):
                names = {f"{node.module}.{alias.name}" for alias in node.names} | {str(node.module)}
                graph[module] |= names & paths.keys()
    return graph


def files(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def tops(path: Path) -> set[str]:
    return {name.partition(".")[0] for name in imports(path)}


def violations(rule: Callable[[Path], object], *folders: str) -> list[str]:
    """What `rule` has against each file of the folders, one line per file."""
    found = {str(path.relative_to(ROOT)): rule(path) for folder in folders for path in files(folder)}
    assert len(found) > 15, "too few files: the rule has looked at the wrong folder"
    return [f"{path}: {what}" for path, what in found.items() if what]


def test_core_imports_neither_screen_nor_database() -> None:
    forbidden = {"streamlit", "starlette", "sqlalchemy", "alembic", "db", "api", "pages", "app"}
    assert not violations(lambda path: tops(path) & forbidden, "core")


def test_the_database_imports_no_screen() -> None:
    assert not violations(lambda path: tops(path) & {"streamlit", "starlette", "api", "pages", "app"}, "db")


def test_routes_import_no_pages_and_streamlit_in_one_place() -> None:
    for path in files("api"):
        assert not tops(path) & {"pages", "app", "sqlalchemy", "alembic"}, path
        assert path.name == "auth.py" or "streamlit" not in tops(path), path


def test_only_what_the_server_does_itself_has_storage_without_a_guard() -> None:
    own = {"access.py", "auth.py", "health.py", "public.py"}
    assert {path.name for path in files("api") if "api.endpoint.unguarded" in imports(path)} == own
    opening = {"endpoint.py"}
    assert {path.name for path in files("api") if "db" in tops(path)} == opening


def test_the_database_imports_no_services() -> None:
    assert not violations(lambda path: sorted(n for n in imports(path) if n.startswith("core.services")), "db")


def test_only_the_wiring_imports_the_database() -> None:
    def rule(path: Path) -> set[str]:
        return set() if path.name == "wiring.py" else tops(path) & {"db", "sqlalchemy", "alembic"}

    assert not violations(rule, "pages")
    assert not rule(ROOT / "app.py")


def test_imports_inside_core_run_one_way() -> None:
    def rule(path: Path) -> list[str]:
        parts = path.relative_to(ROOT / "core").parts
        room = parts[0] if len(parts) > 1 else path.stem
        if room in ("__main__", "__init__"):
            return []
        allowed = BASE | (set(ROOMS[: ROOMS.index(room) + 1]) if room in ROOMS else set())
        if room == "services":
            allowed |= {"sample"}
        return sorted({name.split(".")[1] for name in imports(path) if name.startswith("core.")} - allowed)

    assert not violations(rule, "core")
    TopologicalSorter(imports_of_modules()).prepare()  # raises CycleError


def test_the_product_does_not_import_the_tools() -> None:
    assert not violations(lambda path: tops(path) & {"tools", "tests"}, "core", "cli", "db", "api", "pages")


def test_nothing_imports_the_command_line() -> None:
    """`core/__main__.py`, its earlier name, runs it by its name."""
    assert not violations(lambda path: tops(path) & {"cli"}, "core", "db", "api", "pages", "tools")
    assert not tops(ROOT / "app.py") & {"cli"}
    assert not violations(
        lambda path: tops(path) & {"streamlit", "starlette", "sqlalchemy", "api", "pages", "app"}, "cli"
    )


def test_public_class_names_are_defined_once() -> None:
    where: dict[str, list[str]] = {}
    for path in (path for folder in PACKAGES for path in files(folder)):
        for node in nodes(path):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                where.setdefault(node.name, []).append(f"{path.relative_to(ROOT)}:{node.lineno}")
    doubled = {name: places for name, places in where.items() if len(places) > 1}
    assert not doubled


def test_a_page_can_be_read_in_one_go() -> None:
    lengths = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in (ROOT / "pages").glob("*.py")}
    assert lengths
    assert not {name: lines for name, lines in lengths.items() if lines > PAGE_LINES}


def test_folders_and_modules_are_small() -> None:
    modules = [path for folder in PACKAGES for path in files(folder) if path.name != "__init__.py"]
    lengths = {str(p.relative_to(ROOT)): len(p.read_text(encoding="utf-8").splitlines()) for p in modules}
    per_folder = Counter(path.parent for path in modules)
    assert {name for name, lines in lengths.items() if lines > MODULE_LINES} <= LONG_MODULES
    assert not {folder: n for folder, n in per_folder.items() if n > MODULES_PER_FOLDER}


STAGES = """
import sys

def report(stage, *names):
    print(stage, *sorted({*names} & {*sys.modules}))

from core.perturbations import registry as perturbations
perturbations.noises()
report("noises", "torch", "transformers", "scipy", "nltk", "lemminflect", "spacy", "numpy")
[one.perturb("The man did not sell 20 large houses in Berlin.", 0) for one in perturbations.chosen()]
report("perturbing", "torch", "nltk")
import core.ports.store, core.metrics.registry, core.scoring.dataset, core.mqm.log, db.store
from core.metrics import readiness
core.metrics.registry.specs(), readiness.of_all(), readiness.configured_models()
report("services", "torch")
"""


def test_light_modules_load_no_heavy_packages() -> None:
    done = subprocess.run([sys.executable, "-c", STAGES], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["noises", "perturbing", "services"]


def test_nothing_in_the_product_unpickles() -> None:
    for path in (path for folder in PACKAGES for path in files(folder)):
        assert not tops(path) & {"pickle", "joblib", "dill", "shelve", "marshal"}, path


def test_no_string_of_a_script_is_drawn_on_the_page() -> None:
    """Streamlit draws every expression at the top level of the scripts that it runs, except their docstring."""
    for script in (ROOT / "app.py", *(ROOT / "pages").glob("*.py")):
        after = ast.parse(script.read_text(encoding="utf-8")).body[1:]
        drawn = [node.lineno for node in after if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)]
        assert not drawn, script
