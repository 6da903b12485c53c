"""What the documentation must not forget."""

import posixpath
import re
import tomllib
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient
from streamlit.testing.v1 import AppTest

from api import documentation
from api.documentation import routes
from cli.__main__ import COMMANDS
from core.formats.labels.label_formats import FORMATS
from core.ports.store import Store
from core.settings import Limits
from tests.pages.conftest import PATIENCE, database, store
from tests.paths import ROOT

__all__ = ["database", "store"]

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_command_is_in_the_readme_and_has_help() -> None:
    assert [name for name in COMMANDS if not re.search(rf"`errorscope {name}[ `]", README)] == []
    assert all(command.text for command in COMMANDS.values())


def test_every_setting_is_in_the_readme() -> None:
    settings = set(re.findall(r"ERRORSCOPE_(?!MAX)[A-Z0-9]+", (ROOT / "core/settings.py").read_text()))
    limits = set(map(Limits.variable, Limits._fields))
    assert [name for name in sorted(settings | limits) if f"`{name}`" not in README] == []


@pytest.mark.parametrize("path", ["requirements.txt", "tests/requirements.txt"])
def test_every_direct_dependency_is_pinned_and_explained(path: str) -> None:
    lines = [line for line in (ROOT / path).read_text().splitlines() if line and not line.startswith("#")]
    why = (ROOT / "docs/decisions/002-dependencies.md").read_text(encoding="utf-8").lower()
    for line in lines:
        name, _, version = line.partition("==")
        assert version, line
        assert name.removesuffix("-stubs") in why, name


PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "core").rglob("*.md")]


@cache
def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_lead_somewhere() -> None:
    broken = []
    for page in PAGES:
        for link in set(re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))):
            path, _, anchor = link.partition("#")
            target = page.parent / path if path else page
            if not link.startswith("https://") and not (target.exists() and (not anchor or anchor in anchors(target))):
                broken.append(f"{page.relative_to(ROOT)}: {link}")
    assert broken == []


def test_the_app_serves_all_documentation_with_working_links() -> None:
    served = documentation.files()
    assert set(PAGES) <= set(served.values())
    ids: dict[str, set[str]] = {}
    links: list[tuple[str, str]] = []
    with TestClient(Starlette(routes=routes("/base"))) as visitor:
        for path in served:
            answer = visitor.get(f"/base/documentation/{path}")
            assert answer.status_code == 200, path
            assert answer.headers["content-type"].startswith("text/html" if path.endswith(".md") else "image/png")
            text = answer.text if path.endswith(".md") else ""
            ids[path] = set(re.findall(r'<h\d id="([^"]+)"', text))
            links += [(path, link) for link in re.findall(r' (?:href|src)="([^"/][^":]*)"', text)]
        for path, link in links:
            target, _, anchor = link.partition("#")
            to = posixpath.normpath(posixpath.join(posixpath.dirname(path), target)) if target else path
            assert to in served or visitor.get(f"/base/documentation/{to}").status_code == 200, (path, link)
            assert not anchor or unquote(anchor) in ids[to], (path, link)
        assert len(links) > 100
        assert visitor.get("/base/documentation/").url.path == "/base/documentation/docs/README.md"
        for path in ("docs/none.md", "app.py", "docs/../app.py", "docs/%2e%2e/core/settings.py"):
            assert visitor.get(f"/base/documentation/{path}").status_code == 404, path


def test_named_paths_exist() -> None:
    named = {
        (page.name, path)
        for page in PAGES
        for path in re.findall(
            r"`((?:core|db|docs|pages|tests|tools|\.ci)/[\w./-]+)`", page.read_text(encoding="utf-8")
        )
    }
    assert len(named) > 20
    assert [one for one in sorted(named) if not (ROOT / one[1]).exists()] == []


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs/README.md").read_text(encoding="utf-8")
    assert [
        page.name for page in (ROOT / "docs").glob("*.md") if f"({page.name}" not in index and page.name != "README.md"
    ] == []


def test_changelog_project_and_models_page_agree(store: Store) -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert re.findall(r"^## \[(\d+\.\d+\.\d+)\]", changelog, re.MULTILINE)[0] == version
    page = AppTest.from_file(str(ROOT / "pages/models.py"), default_timeout=PATIENCE).run()
    shown = [row for table in page.table for row in table.value.astype(str).to_numpy().tolist()]
    assert any(row[0] == "Errorscope" and row[1].replace("\\", "") == version for row in shown), shown


def test_no_file_is_over_20_mb() -> None:
    for path in (ROOT / "core").rglob("*"):
        assert not path.is_file() or path.stat().st_size < 20e6, path


def test_every_format_of_labels_is_in_its_table() -> None:
    table = (ROOT / "docs/formats.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` | " in table for name in FORMATS)
