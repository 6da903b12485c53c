"""What the documentation must not forget."""

import re
from pathlib import Path

import pytest

from core.__main__ import app
from core.formats.label_formats import FORMATS
from core.settings import Limits

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("command", [c.callback.__name__ for c in app.registered_commands if c.callback])
def test_every_command_is_in_the_readme_and_has_help(command: str) -> None:
    assert f"python -m core {command} " in README
    assert next(c.callback for c in app.registered_commands if c.callback and c.callback.__name__ == command).__doc__


@pytest.mark.parametrize(
    "name",
    sorted(
        set(re.findall(r"ERRORSCOPE_(?!MAX)[A-Z0-9]+", (ROOT / "core/settings.py").read_text()))
        | set(map(Limits.variable, Limits._fields))
    ),
)
def test_every_setting_is_in_the_readme(name: str) -> None:
    assert f"`{name}`" in README


@pytest.mark.parametrize("path", ["requirements.txt", "tests/requirements.txt"])
def test_every_direct_dependency_is_pinned_and_explained(path: str) -> None:
    lines = [line for line in (ROOT / path).read_text().splitlines() if line and not line.startswith("#")]
    why = (ROOT / "docs/decisions/002-dependencies.md").read_text(encoding="utf-8").lower()
    for line in lines:
        name, _, version = line.partition("==")
        assert version, line
        assert name.removesuffix("-stubs") in why, name


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)#]+)\)", README))))
def test_links_of_the_readme_lead_somewhere(link: str) -> None:
    assert (ROOT / link).exists()


def test_no_file_is_over_20_mb() -> None:
    for path in (ROOT / "core").rglob("*"):
        assert not path.is_file() or path.stat().st_size < 20e6, path


def test_every_format_of_labels_is_in_its_table() -> None:
    table = (ROOT / "docs/formats.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` | " in table for name in FORMATS)
