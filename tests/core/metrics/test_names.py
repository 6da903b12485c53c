"""Scores are stored under the name of the metric expression, and signatures are unique."""

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from cli.evaluate import read_scores
from cli.score import score_command as score
from core.errors import UserError
from core.metrics import ranges, registry
from core.metrics.ranges import NoRange
from core.models.configs import configured_model
from tests.core.metrics.all_outputs import all_outputs
from tests.core.metrics.expressions import baselines, expressions
from tests.core.metrics.test_common import ITEMS
from tests.core.tiny_encoder import use_tiny_encoder
from tests.tiny_checkpoints import environment_of

TEXTS = "system,doc_id,segment_id,source,reference,output\nA,d,1,die Katze,the cat sat on the mat,the cat sat\n"
NAMES = sorted(registry.METRICS)
SAME_OPTIONS = {
    "rouge2", "rougeL", "bartscore-p", "bartscore-r", "bartscore-faithfulness", "bartscore++-p", "bartscore++-r", "smart2",
    "smartL", "smartX", "nli-ref-sum", "comet-qe", "prism-src", "mlm-ppl",
}  # fmt: skip
"""Metrics that have the options of another one."""
LIKE_ANOTHER = pytest.mark.extended
SYNONYMS = ("bertscore|layer:5", "menli|with:chrf|range:declared")
"""Expressions that ask for what the metric would take by itself."""


@pytest.fixture(autouse=True)
def _untrained_models(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Configure a tiny model of every kind, and give BERTScore its baselines and its range."""
    parameters = request.node.callspec.params if hasattr(request.node, "callspec") else {}
    environment = environment_of(parameters.get("name", "")) | {"ERRORSCOPE_HOME": str(tmp_path / "home")}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    use_tiny_encoder(monkeypatch)
    baselines(tmp_path / "home", configured_model("encoder").name)
    ranges.fit({registry.load_metric("bertscore").signature(): [0.2, 0.9]})


def usable(name: str) -> list[str]:
    """The expressions of a metric that can be scored here; the others need a layer, a range or a package."""
    asked = list(expressions(registry.load_metric(name).spec))
    if name == "bertscore":
        return [one for one in asked if "layer:" not in one or int(one.partition("layer:")[2].partition("|")[0]) <= 6]
    return [one for one in asked if not lacks_range(one) and ("ja-mecab" not in one or find_spec("MeCab"))]


def lacks_range(asked: str) -> bool:
    try:
        registry.load_metric(asked).signature()
    except NoRange:
        return True
    return False


@pytest.mark.parametrize("name", sorted(registry.METRICS))
def test_a_metric_keeps_its_name_label_and_range_among_others(name: str) -> None:
    for asked in expressions(registry.load_metric(name).spec):
        metric = registry.load_metric(asked)
        among = metric.for_outputs(all_outputs(ITEMS))
        assert metric.spec.name == among.spec.name == asked
        assert among.spec == metric.spec
        known = registry.describe(asked)
        assert known is not None
        assert replace(known, range=(0, 1)) == replace(metric.spec, range=(0, 1))


@pytest.mark.parametrize("name", sorted(registry.METRICS))
def test_two_metrics_never_have_one_signature(name: str) -> None:
    signed: dict[str, str] = {}
    for asked in [*usable(name), *(one for one in SYNONYMS if one.split("|")[0] == name)]:
        metric = registry.load_metric(asked)
        among = metric.for_outputs(all_outputs(ITEMS))
        assert signed.setdefault(among.signature(), asked) == asked


def test_an_explicit_default_is_signed_differently() -> None:
    assert "|layer:5 (given)|" in registry.load_metric("bertscore|layer:5").signature()
    assert "|layer:5|" in registry.load_metric("bertscore").signature()
    assert "|range_m:0..100 (declared) (given)|" in registry.load_metric("menli|with:chrf|range:declared").signature()
    assert "|range_m:0..100 (declared)|" in registry.load_metric("menli|with:chrf").signature()


def test_a_range_holds_for_a_layer_however_it_was_asked_for() -> None:
    assert ranges.key(registry.load_metric("bertscore|layer:5").signature()) == ranges.key(
        registry.load_metric("bertscore").signature()
    )


@pytest.mark.parametrize("name", [pytest.param(n, marks=LIKE_ANOTHER if n in SAME_OPTIONS else []) for n in NAMES])
def test_the_command_line_writes_the_names_it_was_asked_for(name: str, tmp_path: Path) -> None:
    single = [one for one in usable(name) if one.count("|") <= 1]
    asked = single + [one for one in usable(name) if one.count("|") > 1][-1:]
    data, out = tmp_path / "in.csv", tmp_path / "out.csv"
    data.write_text(TEXTS, encoding="utf-8")
    score([data], out, ",".join(asked))
    metrics, _, _ = read_scores(out)
    assert [m.name for m in metrics] == asked


def test_a_summary_has_no_overlap_test() -> None:
    with pytest.raises(UserError, match="expected one of probability, off"):
        registry.load_metric("bartscore++-faithfulness|nt:overlap")
    assert registry.load_metric("bartscore++-faithfulness|nt:probability").spec.name == "bartscore++-faithfulness"
