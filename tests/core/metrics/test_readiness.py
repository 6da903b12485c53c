"""Readiness of metrics is known before they run, without torch."""

import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from core.metrics import ranges, readiness, registry
from core.metrics.base import Metric, MetricSpec
from core.metrics.readiness import Readiness
from core.models import checkpoint
from core.models.configs import MODEL_KINDS
from tests import tiny_checkpoints as tiny
from tests.paths import ROOT


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for role in MODEL_KINDS.values():
        monkeypatch.delenv(role.variable, raising=False)


def metric(sign: object, **changes: object) -> Metric:
    spec = MetricSpec("m", "M", "p", "h.", (0, 1), frozenset(), **changes)  # type: ignore[arg-type]
    return Metric(spec, sign, lambda items, progress: [])  # type: ignore[arg-type]


def test_every_metric_is_ready_or_says_what_it_lacks() -> None:
    found = readiness.of_all()
    assert list(found) == list(registry.METRICS)
    for one in found.values():
        assert bool(one.signature) == (one.state == "ready")
        assert bool(one.reason) == (one.state != "ready")
    assert sum(readiness.counts(found).values()) == len(found)


def test_a_bare_installation_runs_what_it_ships_with() -> None:
    found = readiness.of_all(["chrf", "bartscore++", "entailment", "gpt-ppl"])
    assert [one.state for one in found.values()] == ["ready", "ready", "ready", "weights"]


def test_an_empty_role_is_said_with_the_command_that_fills_it() -> None:
    one = readiness.readiness_of(registry.load_metric("gpt-ppl"))
    assert one.reason == "a causal language model is not configured"
    assert one.command == MODEL_KINDS["lm"].command
    assert one.command.splitlines()[-1].startswith("errorscope models lm ")
    assert "--include" not in one.command  # takes one pattern: the others would be taken for names of files
    assert one.kind == "lm"
    assert one.sentence() == "model missing: a causal language model is not configured"


def test_weights_that_come_as_pickles_are_said_to() -> None:
    one = readiness.readiness_of(registry.load_metric("unieval"))
    assert "pickle" in one.note
    assert one.command.splitlines()[-1].startswith("errorscope models unieval ")


def test_a_missing_model_comes_with_its_download_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setenv("ERRORSCOPE_NLI", "someone/model")
    one = readiness.readiness_of(registry.load_metric("entailment"))
    assert (one.state, one.reason) == (
        "weights",
        "someone/model is configured as an entailment model, but it is not on this machine",
    )
    assert one.command.startswith("hf download someone/model ")


def test_a_folder_without_safetensors_cannot_be_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "pytorch_model.bin").write_bytes(b"x")
    monkeypatch.setenv("ERRORSCOPE_NLI", str(tmp_path))
    one = readiness.readiness_of(registry.load_metric("entailment"))
    assert one.state == "unreadable"
    assert "no safetensors weights" in one.reason
    assert "never loads" in one.note
    assert one.command == f"errorscope models nli {tmp_path}"


def test_a_model_of_the_wrong_kind_cannot_be_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ERRORSCOPE_NLI", str(tiny.causal(tmp_path)))
    one = readiness.readiness_of(registry.load_metric("entailment"))
    assert (one.state, one.reason) == (
        "unreadable",
        "this model cannot be used as an entailment model: GPT2LMHeadModel",
    )


def test_prism_beside_a_model_of_one_language_asks_for_another() -> None:
    one = readiness.readiness_of(registry.load_metric("prism"))
    assert (one.state, one.kind) == ("weights", "seq2seq")
    assert "multilingual" in one.reason
    assert "ERRORSCOPE_LANGUAGES=de-en" in one.command


def test_comet_qe_suggests_a_checkpoint_of_its_own_kind() -> None:
    assert "comet-qe" in readiness.readiness_of(registry.load_metric("comet-qe")).command
    assert "comet-da" in readiness.readiness_of(registry.load_metric("comet")).command


def test_every_metric_of_a_role_becomes_ready_when_it_is_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("entailment", "unieval", "bleurt", "comet", "comet-qe", "prism", "prism-src", "gpt-ppl", "mlm-ppl"):
        for variable, value in tiny.environment_of(name).items():
            monkeypatch.setenv(variable, value)
        assert readiness.readiness_of(registry.load_metric(name)) == Readiness(
            "ready", signature=registry.load_metric(name).signature()
        )


def test_a_combination_without_range_says_how_to_fit_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The tiny model has no shipped range: its values have no bounds, and nothing is wrong with any model."""
    monkeypatch.setenv("ERRORSCOPE_HOME", str(tmp_path))
    for variable, value in tiny.environment().items():
        monkeypatch.setenv(variable, value)
    one = readiness.readiness_of(registry.load_metric("menli|with:bartscore"))
    assert (one.state, one.words) == ("range", "range missing")
    assert one.reason == "BARTScore F is unbounded and has no stored range"
    assert one.command.split("\n") == [
        "errorscope score FILES --metrics 'bartscore' --out s.csv", "errorscope ranges s.csv"
    ]  # fmt: skip
    ranges.fit({registry.load_metric("bartscore").signature(): [-7.0, -1.0]})
    assert readiness.readiness_of(registry.load_metric("menli|with:bartscore")).state == "ready"


def test_a_combination_without_nli_model_lacks_only_the_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setenv("ERRORSCOPE_NLI", "someone/model")
    one = readiness.readiness_of(registry.load_metric("menli|with:chrf"))
    assert (one.state, one.kind) == ("weights", "nli")


def test_a_missing_preset_comes_with_its_download_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    for name, label in (("xnli-d", "XNLI-D"), ("NLI-R", "NLI-R"), ("xnli-r", "XNLI-R")):
        monkeypatch.setenv("ERRORSCOPE_NLI", name)
        one = readiness.readiness_of(registry.load_metric("nli"))
        assert one.reason == f"{label} is configured as an entailment model, but it is not on this machine"
        assert (one.state, one.command) == ("weights", checkpoint.NLI[name.lower()].command)


def test_a_missing_package_comes_with_its_install_command() -> None:
    def sign() -> str:
        raise PackageNotFoundError("other")

    one = readiness.readiness_of(metric(sign, package="other==1.2"))
    assert one == Readiness("package", "the package other is not installed", "pip install other==1.2")


def test_a_metric_that_cannot_be_imported_disturbs_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.METRICS, "broken", "no_such_package.metric:METRIC")
    found = readiness.of_all(["broken", "chrf"])
    assert (found["broken"].state, found["broken"].command) == ("package", "pip install no_such_package")
    assert found["chrf"].state == "ready"


def test_every_kind_of_model_has_its_configured_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERRORSCOPE_NLI", tiny.environment()["ERRORSCOPE_NLI"])
    players = {player.kind.name: player for player in readiness.configured_models()}
    assert list(players) == list(MODEL_KINDS)
    seq2seq, nli, lm = players["seq2seq"], players["nli"], players["lm"]
    assert seq2seq.checkpoint
    assert seq2seq.checkpoint.bundled
    assert seq2seq.size == sum(f.stat().st_size for f in seq2seq.checkpoint.path.glob("*.safetensors"))
    assert nli.checkpoint
    assert nli.checkpoint.name == "nli"
    assert (lm.checkpoint, lm.lacking.command) == (None, MODEL_KINDS["lm"].command)


@pytest.mark.extended
def test_nothing_of_it_loads_torch() -> None:
    code = "import sys; from core.metrics import readiness as r; r.of_all(); r.configured_models(); sys.exit('torch' in sys.modules)"
    environment = {**tiny.environment(), "PATH": "", "ERRORSCOPE_HOME": "/nonexistent"}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, check=False)
    assert done.returncode == 0


def test_system_level_metrics_name_their_missing_package() -> None:
    (one,) = readiness.of_sets().values()
    if one.state == "ready":
        pytest.skip("mauve-text is installed here")
    assert (one.state, one.command) == ("package", "pip install mauve-text")
