"""The Models page: what can run here, who plays which role, how this installation is set up."""

import re
from datetime import UTC, datetime
from html import unescape
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.metrics import readiness
from core.metrics.readiness import Readiness
from core.metrics.registry import METRICS, load_metric
from core.models.configs import MODEL_KINDS
from core.ports.people import Account, Identity
from core.ports.store import Store
from pages._ui.help.help_parts import hidden
from pages._ui.models.metric_table import metric_rows, spread, table
from pages._ui.models.model_cards import for_this_machine, lacks, megabytes
from pages._ui.shared import wiring
from tests import tiny_checkpoints as tiny
from tests.pages.opened_page import run
from tests.pages.said import unescaped


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for role in MODEL_KINDS.values():
        monkeypatch.delenv(role.variable, raising=False)


def html(at: AppTest) -> str:
    return next(e.proto.body for e in at.get("html") if "<table class='es-metrics'>" in e.proto.body)


def rows(body: str) -> dict[str, list[str]]:
    """The cells of each metric, their marks left out, by its label."""
    found = {}
    for line in re.findall(r"<tr>(<td>.*?)</tr>", body):
        cells = [unescape(re.sub(r"<[^>]+>", " ", cell)).strip(" ") for cell in line.split("</td><td>")]
        found[cells[0].partition("  ")[0]] = cells
    return found


def cells(at: AppTest, which: int) -> list[list[str]]:
    return [[unescaped(str(c)) for c in r] for r in at.table[which].value.to_numpy().tolist()]


def card(at: AppTest, words: str) -> str:
    """What the card of a role says, from the Markdown that begins with its words."""
    texts = [m.value for m in at.markdown]
    first = next(i for i, text in enumerate(texts) if text.startswith(f"**{words}**"))
    return " ".join(texts[first : first + 2])


def test_metrics_and_models_are_listed_and_filtered(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = run("models")
    found = rows(html(at))
    assert list(found) == [*(load_metric(name).spec.label for name in METRICS), "MAUVE"]
    assert found["TER"][4] == "0\u00a0…\u00a0∞\u00a0↓"
    assert found["chrF"][1] == "● ready"
    assert "Popović 2015" in found["chrF"][0]
    assert found["chrF"][3] == "reference"
    perplexity = found["Perplexity"]
    assert perplexity[1] == "○ model missing"
    assert "A causal language model is not configured" in perplexity[2]
    assert "The tab Models sets one up." in perplexity[2]
    lm = MODEL_KINDS["lm"]
    assert for_this_machine("\n".join(lm.fetch(lm.folder))) in [code.value for code in at.code]
    assert "Suggested" in card(at, "A causal language model")
    assert "0.5 GB" in card(at, "A causal language model")

    names = [name[1] for m in at.markdown if (name := re.search(r"`(x?nli-[rd])`", str(m.value)))]
    assert names == ["nli-r", "nli-d", "xnli-r", "xnli-d"]
    said = [str(c.value).replace("\\", "") for c in at.caption]
    assert "DeBERTa-large, on MNLI · English · 1.6 GB · licence MIT" in said
    assert sum("size unknown · licence unknown" in line for line in said) == 1
    assert any("ERRORSCOPE_NLI=xnli-d make run" in code.value for code in at.code)
    bundled = card(at, "A seq2seq model")
    assert "bundled" in bundled
    assert "small" in bundled
    assert any("small demonstration model" in line for line in said)
    assert ["Database", f"sqlite:///{tmp_path / 'errorscope.db'}", "ERRORSCOPE_DB"] in cells(at, -1)

    at.segmented_control(key="models-state").set_value("weights").run()
    assert "Perplexity" in rows(html(at))
    assert "chrF" not in rows(html(at))
    at.text_input(key="models-words").set_value("thompson").run()
    assert list(rows(html(at))) == ["Prism-ref", "Prism-src"]
    at.text_input(key="models-words").set_value("no such thing").run()
    assert any("No metric" in info.value for info in at.info)

    monkeypatch.setenv("ERRORSCOPE_SEQ2SEQ", "no/such-model")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    at = run("models")
    assert "is not on this machine" in card(at, "A seq2seq model")
    assert any("hf download no/such-model " in code.value for code in at.code)
    found = rows(html(at))
    assert found["chrF"][1] == "● ready"
    assert found["BARTScore F"][1] == "○ model missing"


@pytest.mark.extended
def test_a_fetched_model_is_checked_converted_and_used(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = run("models")
    assert any("looks like a COMET model yet" in unescaped(str(c.value)) for c in at.caption)
    wrong = tiny.nli(tmp_path / "wrong")
    at.text_input(key="typed-comet").set_value(str(wrong)).run()
    assert any("hparams.yaml" in m.value and "expected COMET" in unescaped(m.value) for m in at.markdown)
    assert not [b for b in at.button if b.key == "prepare-comet"]
    at.text_input(key="typed-comet").set_value("/no/such").run()
    assert any("no such folder" in error.value for error in at.error)

    folder = tiny.fetched_comet(tmp_path / "models" / "wmt22-comet-da")
    at.button(key="look-comet").click().run()
    assert at.selectbox(key="folder-comet").value == str(folder)
    at.button(key="prepare-comet").click().run()
    said = [unescaped(str(c.value)) for c in at.caption]
    assert any("good output “Can I receive my food in 10 to 15 minutes?”" in line for line in said)
    assert any("published in" in unescaped(w.value) for w in at.warning)
    assert rows(html(at))["COMET"][1] == "● ready"
    (folder / "config.json").write_text((folder / "config.json").read_text() + " ")
    assert any("changed since the test" in w.value for w in run("models").warning)

    monkeypatch.setenv("ERRORSCOPE_BLEURT", str(tiny.pickled(tiny.regressor(tmp_path / "bleurt"))))
    at = run("models")
    assert "no safetensors weights" in card(at, "A BLEURT model")
    assert [b.label for b in at.button if b.key == "prepare-bleurt"] == ["Convert, test and use"]
    monkeypatch.setattr(
        wiring,
        "identity",
        lambda: Identity(roles={1: "viewer"}, link=None, account=Account(1, "ann", False, True, datetime.now(UTC))),
    )
    at = run("models")
    assert not [b for b in at.button if str(b.key).startswith(("prepare-", "stop-using-", "look-"))]
    assert MODEL_KINDS["lm"].command in [code.value for code in at.code]


def test_rows_of_metrics_and_settings_hide_secrets_and_markup() -> None:
    found = {"chrf": Readiness("package", "the package <b>x</b> is not installed", "pip install x")}
    body = table(metric_rows(found), found)
    assert "&lt;b&gt;x&lt;/b&gt;" in body
    assert "□ package missing" in body
    assert spread(load_metric("bartscore").spec) == "−∞\u00a0…\u00a00\u00a0↑"
    assert megabytes(90_868_376) == "90.9 MB"
    assert megabytes(1_625_000_000) == "1.6 GB"

    shown = {
        "sqlite:////tmp/x.db": "sqlite:////tmp/x.db",
        "postgresql://ann:secret@host/db": "postgresql://ann:***@host/db",
        "postgresql+psycopg://ann:se@c:re/t@host:5432/db": "postgresql+psycopg://ann:***@host:5432/db",
        "postgresql://host/db?user=ann&password=secret&x=1": "postgresql://host/db?user=ann&password=***&x=1",
        "postgresql://:secret@host/db": "postgresql://:***@host/db",
    }
    assert {url: hidden(url) for url in shown} == shown

    groups = lacks(readiness.of_all(), readiness.configured_models())
    assert ["Prism-ref", "Prism-src"] in groups.values()
    assert all(one.reason != "an entailment model is not configured" for one in groups)
