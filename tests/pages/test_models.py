"""The Models page: what can run here, which model speaks, how this installation is set up."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.metrics.registry import METRICS, load
from core.ports import Store
from pages._ui import models_parts
from pages._ui.models_parts import hidden, row, spread
from tests.pages.test_shell import run, store

__all__ = ["store"]


def cells(at: AppTest, which: int) -> list[list[str]]:
    return [[str(c).replace("\\", "") for c in r] for r in at.table[which].value.to_numpy().tolist()]


def test_every_metric_of_the_registry_is_listed_with_its_direction(store: Store) -> None:
    at = run("models")
    assert not at.exception
    assert [r[0] for r in cells(at, 0)] == [load(name).spec.label for name in METRICS]
    by_name = {r[0]: r for r in cells(at, 0)}
    assert by_name["TER"][3] == "0\u00a0…\u00a0∞\u00a0↓"
    assert by_name["chrF"][1:4] == ["ready", "reference", "0\u00a0…\u00a0100\u00a0↑"]
    assert "Popović 2015" in by_name["chrF"][4]


def test_the_bundled_model_is_marked_as_small_and_for_demonstration(store: Store) -> None:
    at = run("models")
    assert any("bundled, small demonstration model" in m.value for m in at.markdown)


def test_a_model_that_is_not_here_is_said_with_the_command_that_fetches_it(
    store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ERRORSCOPE_SEQ2SEQ", str(tmp_path / "no such model"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    at = run("models")
    assert not at.exception
    assert "not on this machine" in at.error[0].value
    states = {r[0]: r[1] for r in cells(at, 0)}
    assert states["chrF"] == "ready"
    assert states["BARTScore F"] == "needs weights"


def test_a_metric_whose_package_is_missing_is_listed_and_disturbs_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError("No module named 'sacrebleu'", name="sacrebleu")

    monkeypatch.setattr(models_parts, "load", missing)
    found = row("chrf")
    assert (found["metric"], found["state"], found["what it says"]) == ("chrf", "needs a package", "install sacrebleu")
    assert found.keys() == set(models_parts.COLUMNS)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("sqlite:////tmp/x.db", "sqlite:////tmp/x.db"),
        ("postgresql://ann:secret@host/db", "postgresql://ann:***@host/db"),
        ("postgresql+psycopg://ann:se@c:re/t@host:5432/db", "postgresql+psycopg://ann:***@host:5432/db"),
        ("postgresql://host/db?user=ann&password=secret&x=1", "postgresql://host/db?user=ann&password=***&x=1"),
        ("postgresql://:secret@host/db", "postgresql://:***@host/db"),
    ],
)
def test_a_database_address_never_shows_its_password(url: str, expected: str) -> None:
    assert hidden(url) == expected


def test_the_database_that_is_in_use_is_shown(store: Store, tmp_path: Path) -> None:
    at = run("models")
    assert ["Database", f"sqlite:///{tmp_path / 'errorscope.db'}", "ERRORSCOPE_DB"] in cells(at, -1)


def test_a_range_without_end_is_written_with_infinity() -> None:
    assert spread(load("bartscore").spec) == "−∞\u00a0…\u00a00\u00a0↑"
