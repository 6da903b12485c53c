"""Presets: short names of published checkpoints."""

import re
from pathlib import Path

import pytest

from core.errors import UserError
from core.models import configs
from core.models.checkpoint import NLI, preset_named
from tests import tiny_checkpoints as tiny
from tests.paths import ROOT

PAPER = {
    "nli-r": "ynie/roberta-large-snli_mnli_fever_anli_R1_R2_R3-nli",
    "nli-d": "microsoft/deberta-large-mnli",
    "xnli-d": "MoritzLaurer/mDeBERTa-v3-base-mnli-xnli",
}
"""Section 4.3 of Chen and Eger 2023: RoBERTa-large by Nie et al., DeBERTa-large on MNLI, mDeBERTa on MNLI and XNLI; XNLI-R they
trained themselves."""


def test_the_four_models_of_the_paper_have_a_name() -> None:
    assert [p.label for p in NLI.values()] == ["NLI-R", "NLI-D", "XNLI-R", "XNLI-D"]
    assert {name: p.checkpoint for name, p in NLI.items() if p.checkpoint} == PAPER


@pytest.mark.parametrize(("name", "checkpoint"), PAPER.items())
def test_a_name_stands_for_the_checkpoint_of_the_paper(
    name: str, checkpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for written in (name, name.upper()):
        monkeypatch.setenv("ERRORSCOPE_NLI", written)
        assert configs.setting_of("nli") == checkpoint


def test_other_settings_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERRORSCOPE_NLI", "someone/nli-r")
    assert configs.setting_of("nli") == "someone/nli-r"
    monkeypatch.setenv("ERRORSCOPE_ENCODER", "nli-r")
    assert configs.setting_of("encoder") == "nli-r"


def test_a_folder_of_that_name_is_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tiny.nli(tmp_path / "nli-r")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ERRORSCOPE_NLI", "nli-r")
    assert preset_named("nli", "nli-r") is None
    assert configs.configured_model("nli").path == Path("nli-r")


def test_a_model_that_is_on_no_hub_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERRORSCOPE_NLI", "xnli-r")
    with pytest.raises(UserError, match="XNLI-R is not on this machine") as error:
        configs.configured_model("nli")
    assert "safetensors" in error.value.hint


def test_commands_fetch_the_checkpoint_and_set_it() -> None:
    for p in NLI.values():
        if p.checkpoint:
            assert p.command.startswith(f"hf download {p.checkpoint} ")
            assert re.search(rf"^ERRORSCOPE_NLI={p.name} ", p.command, re.M)
        else:
            assert p.note
            assert (p.size, p.licence) == ("unknown", "unknown")


def test_the_manual_names_them_all() -> None:
    manual = (ROOT / "docs" / "menli.md").read_text(encoding="utf-8")
    for p in NLI.values():
        assert f"`{p.name}`" in manual
        assert p.checkpoint in manual
