"""Readiness of metrics is known before they run, without torch."""

import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import NamedTuple

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
    states = readiness.of_all()
    assert list(states) == list(registry.METRICS)
    for one in states.values():
        assert bool(one.signature) == (one.state == "ready")
        assert bool(one.reason) == (one.state != "ready")
    assert sum(readiness.counts(states).values()) == len(states)


def test_a_bare_installation_runs_what_it_ships_with() -> None:
    states = readiness.of_all(["chrf", "bartscore++", "entailment", "gpt-ppl"])
    assert [one.state for one in states.values()] == ["ready", "ready", "ready", "weights"]


def test_an_empty_role_is_said_with_the_command_that_fills_it() -> None:
    one = readiness.readiness_of(registry.load_metric("gpt-ppl"))
    assert one.command == MODEL_KINDS["lm"].command
    assert "--include" not in one.command  # takes one pattern: the others would be taken for names of files
    assert one.sentence() == "model missing: a causal language model is not configured"


class Lacking(NamedTuple):
    """What a metric says where the NLI model is set like this; `command` is how its last line begins."""

    metric: str
    setting: str
    state: str
    kind: str
    reason: str
    command: str = ""
    note: str = ""


ABSENT = "is configured as an entailment model, but it is not on this machine"
LACKING = (
    Lacking("gpt-ppl", "", "weights", "lm", "a causal language model is not configured", "errorscope models lm "),
    Lacking("unieval", "", "weights", "unieval", "not configured", "errorscope models unieval ", "pickle"),
    Lacking("entailment", "someone/model", "weights", "nli", f"someone/model {ABSENT}", "hf download someone/model "),
    Lacking("menli|with:chrf", "someone/model", "weights", "nli", f"someone/model {ABSENT}"),
    Lacking("entailment", "PICKLE", "unreadable", "nli", "no safetensors weights", "errorscope models nli ", "never loads"),
    Lacking("entailment", "CAUSAL", "unreadable", "nli", "cannot be used as an entailment model: GPT2LMHeadModel"),
    Lacking("prism", "", "weights", "seq2seq", "multilingual", "ERRORSCOPE_SEQ2SEQ=m2m100_418M ERRORSCOPE_LANGUAGES=de-en"),
    Lacking("nli", "xnli-d", "weights", "nli", f"XNLI-D {ABSENT}", checkpoint.NLI["xnli-d"].command.splitlines()[-1]),
    Lacking("nli", "NLI-R", "weights", "nli", f"NLI-R {ABSENT}", checkpoint.NLI["nli-r"].command.splitlines()[-1]),
    Lacking("nli", "xnli-r", "weights", "nli", f"XNLI-R {ABSENT}"),
)  # fmt: skip


@pytest.mark.parametrize("lacking", LACKING, ids=lambda one: f"{one.metric} {one.setting}")
def test_what_a_metric_lacks_is_said_with_the_command(
    lacking: Lacking, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    (tmp_path / "pickle").mkdir()
    (tmp_path / "pickle" / "pytorch_model.bin").write_bytes(b"x")
    folders = {"PICKLE": tmp_path / "pickle", "CAUSAL": tiny.causal(tmp_path / "causal")}
    if lacking.setting:
        monkeypatch.setenv("ERRORSCOPE_NLI", str(folders.get(lacking.setting, lacking.setting)))
    one = readiness.readiness_of(registry.load_metric(lacking.metric))
    assert (one.state, one.kind) == (lacking.state, lacking.kind)
    assert lacking.reason in one.reason
    assert one.command.rpartition("\n")[2].startswith(lacking.command)
    assert lacking.note in one.note


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


def test_a_missing_package_comes_with_its_install_command() -> None:
    def sign() -> str:
        raise PackageNotFoundError("other")

    one = readiness.readiness_of(metric(sign, package="other==1.2"))
    assert one == Readiness("package", "the package other is not installed", "pip install other==1.2")


def test_a_metric_that_cannot_be_imported_disturbs_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.METRICS, "broken", "no_such_package.metric:METRIC")
    states = readiness.of_all(["broken", "chrf"])
    assert (states["broken"].state, states["broken"].command) == ("package", "pip install no_such_package")
    assert states["chrf"].state == "ready"


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
