"""The λ of Table 7, with the direction and the prompts each belongs to."""

import json
from pathlib import Path

import pytest

from core.calibration.presets import PRESETS, LambdaPreset
from core.metrics import registry

BY_LABEL = {p.label: p for p in PRESETS}


def facts(expression: str) -> dict[str, str]:
    return dict(f.split(":", 1) for f in registry.load_metric(expression).signature().split("|")[1:])


@pytest.fixture
def lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps({"data_to_text": ["In short", "In brief"]}), "utf-8")
    monkeypatch.setenv("ERRORSCOPE_PROMPTS", str(path))


def test_every_setting_of_table_7_is_there_once_with_its_lambda() -> None:
    # Lu et al. 2023, Table 7, row by row; WMT20 zh-en at 1.70 with MQM labels is section 6
    table = {
        "WMT20": [0.80, 0.40, 0.50, 1.70, 1.10, 0.95, 1.30, 0.85, 1.10, 0.60],
        "WMT20 MQM": [1.70],
        "REALSumm": [0.95],
        "SummEval": [1.00, 0.75, 1.40, 0.95],
        "NeR18": [1.10, 0.75, 0.70, 0.70],
        "Rank19": [0.85],
        "QAGS-CNN": [1.00],
        "QAGS-XSUM": [0.90],
        "BAGEL": [2.00],
        "SFRES": [1.40],
        "SFHOT": [4.90],
    }
    assert {d: [p.lam for p in PRESETS if p.dataset == d] for d in table} == table
    assert len(BY_LABEL) == len(PRESETS) == 26


@pytest.mark.parametrize(
    ("dataset", "variant", "prompts", "side"),
    # Table 6 and appendix A for the direction; the settings released with the paper for the side (presets.py)
    [
        ("WMT20", "f", "mt", "encoder"),
        ("REALSumm", "recall", "summarization_hypothesis_to_reference", "decoder"),
        ("SummEval", "faithfulness", "summarization_source_to_hypothesis", "decoder"),
        ("NeR18", "faithfulness", "summarization_source_to_hypothesis", "decoder"),
        ("Rank19", "faithfulness", "", "encoder"),
        ("QAGS-CNN", "faithfulness", "", "encoder"),
        ("QAGS-XSUM", "faithfulness", "", "encoder"),
        ("BAGEL", "f", "data_to_text", "decoder"),
        ("SFRES", "f", "data_to_text", "decoder"),
        ("SFHOT", "f", "data_to_text", "decoder"),
    ],
)
def test_each_data_set_names_direction_prompts_and_side(dataset: str, variant: str, prompts: str, side: str) -> None:
    assert {(p.variant, p.prompts, p.side, p.assumed) for p in PRESETS if p.dataset == dataset} == {
        (variant, prompts, side, False)
    }


def test_what_is_a_guess_says_so() -> None:
    assert [p.label for p in PRESETS if p.assumed] == ["WMT20 MQM zh-en"]
    assert BY_LABEL["WMT20 MQM zh-en"].made_with == "F, prompt list mt on the encoder, assumed"
    assert BY_LABEL["Rank19 FAC"].made_with == "faithfulness, no prompt"


@pytest.mark.parametrize(
    ("preset", "expression", "other"),
    [
        ("WMT20 de-en", "bartscore++|prompt:Such as", ""),
        ("WMT20 de-en", "bartscore++", "prompts"),
        ("WMT20 de-en", "bartscore++|prompt:Such as|side:decoder", "prompts"),
        ("WMT20 de-en", "bartscore++-r|prompt:Such as", "direction"),
        ("Rank19 FAC", "bartscore++-faithfulness", ""),
        ("Rank19 FAC", "bartscore++", "direction"),
        ("SummEval COH", "bartscore++|k:5", "direction and prompts"),
        ("SFHOT", "bartscore++|prompt:In short;In brief|side:decoder", ""),
        ("SFHOT", "bartscore++|prompt:In short|side:decoder", "prompts"),
        # that list is not here, so its side alone is compared
        ("REALSumm COV", "bartscore++-r|prompt:whatever|side:decoder", ""),
        ("REALSumm COV", "bartscore++-r|prompt:whatever", "prompts"),
    ],
)
@pytest.mark.usefixtures("lists")
def test_what_differs_from_the_scores_shown_is_said(preset: str, expression: str, other: str) -> None:
    assert BY_LABEL[preset].differs(facts(expression)) == other


def test_a_broken_file_of_lists_does_not_hide_the_presets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERRORSCOPE_PROMPTS", str(tmp_path / "none.json"))
    assert LambdaPreset("MT", "x", "", 1.0, "f", "mt").differs(facts("bartscore++|prompt:Such as")) == ""
