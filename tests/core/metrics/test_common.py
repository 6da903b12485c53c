"""Properties of every registered metric. A new metric is tested here automatically."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from core.data import Item, Value
from core.errors import UserError
from core.metrics import registry
from core.metrics.base import Metric
from core.metrics.learned import question_metrics
from core.models.configs import MODEL_KINDS
from core.progress import Cancelled, no_progress
from tests.builders import stop_when
from tests.core.metrics.all_outputs import all_outputs
from tests.core.tiny_encoder import use_tiny_encoder
from tests.tiny_checkpoints import environment_of

VARIANTS = [
    "chrf|beta:3|word_order:2",
    "bleu|tokenize:char",
    "rouge1|stem:yes",
    "bartscore|prompt:Such as;a cat|side:decoder",
    "bartscore-faithfulness|prompt:Such as",
    "bartscore++|k:3|rounds:2|prompt:Such as",
    "bartscore++-p|edits:delete+substitute|nt:probability",
    "entailment|direction:both",
    "entailment|direction:source-output",
    "nli|formula:e-n-2c|direction:output-reference",
    "nli-src|long:sentences",
    "menli|with:chrf|w:0.5|range:declared",
    "unieval|aspect:fluency|sentences:point",
    "unieval|aspect:dialogue-coherence",
    "unieval|aspect:data-informativeness",
    "smart1|matcher:rougeL|sentences:point",
    "smartX|against:reference|measure:p",
    "bertscore|measure:p|idf:yes",
    "bertscore|measure:r|layer:1",
    "moverscore|idf:no|pool:mean|distance:euclidean",
    "sms|units:both|sentences:point",
    "embedding|against:both",
    "judge-da|scale:expected",
    "judge-mqm|repeats:2|reference:yes",
]
NAMES = sorted(registry.METRICS) + VARIANTS
OTHER_ON_COPIES = (
    "bartscore", "moverscore", "entailment", "nli", "menli", "unieval", "bleurt", "comet", "prism", "gpt-ppl", "mlm-ppl", "judge",
)  # fmt: skip
"""How the names of metrics begin that may give another output a better value than a copy of the reference."""
ITEMS = [
    Item("die Katze", "the cat sat", ("the cat sat on the mat",)),
    Item("der Hund", "a red dog 😀", ("a blue dog ran", "the red dog")),
    Item("", "", ("the house",)),
    Item("بيت", "بيت أزرق", ("بيت أحمر",)),
    Item("x", "the\u2028cat <b>", ("the cat",)),
]


@contextmanager
def configured_for(name: str) -> Iterator[None]:
    """Configure a tiny model of every kind, so that every metric can run."""
    with pytest.MonkeyPatch.context() as patch:
        for variable, value in environment_of(name).items():
            patch.setenv(variable, value)
        use_tiny_encoder(patch)
        yield


@pytest.fixture(scope="module", params=NAMES)
def metric(request: pytest.FixtureRequest) -> Iterator[Metric]:
    """Return each metric in turn, fitted on the items if its values depend on others. Its models are loaded once."""
    with configured_for(request.param):
        yield registry.load_metric(request.param).for_outputs(all_outputs(ITEMS))


@pytest.fixture(scope="module")
def together(metric: Metric) -> list[Value]:
    """Return the values of all items, scored at once."""
    return metric.score(ITEMS, no_progress)


@pytest.fixture
def plain(request: pytest.FixtureRequest) -> Iterator[Metric]:
    """Return the metric of an expression."""
    with configured_for(request.param):
        yield registry.load_metric(request.param)


def test_one_value_an_item_in_range_or_with_a_reason(metric: Metric, together: list[Value]) -> None:
    low, high = metric.spec.range
    assert len(together) == len(ITEMS)
    for value in together:
        assert (value.value is None) == (value.status != "ok")
        assert value.value is None or (math.isfinite(value.value) and low <= value.value <= high + 1e-9)
        assert value.status == "ok" or value.reason


def test_order_and_batch_mates_do_not_matter(metric: Metric, together: list[Value]) -> None:
    backwards = [v.value for v in metric.score(ITEMS[::-1], no_progress)][::-1]
    alone = [metric.score([item], no_progress)[0].value for item in ITEMS]
    for one, *others in zip([v.value for v in together], backwards, alone, strict=True):
        assert all(o is one is None or o == pytest.approx(one, abs=1e-4, rel=1e-5) for o in others)


@pytest.mark.parametrize(
    "metric", [n for n in NAMES if not n.startswith(OTHER_ON_COPIES)], indirect=True, scope="module"
)
def test_a_copy_of_the_reference_is_best(metric: Metric) -> None:
    reference = "the cat sat on the mat"
    outputs = [reference, "the cat sat on a mat", "a dog ran"]
    values = [metric.score([Item(reference, o, (reference,))], no_progress)[0].value or 0.0 for o in outputs]
    assert values[0] == pytest.approx(max(values) if metric.spec.higher_is_better else min(values))


def test_a_cancelled_metric_stops(metric: Metric) -> None:
    with pytest.raises(Cancelled):
        metric.score(ITEMS, stop_when(lambda share: True))


@pytest.mark.parametrize(
    "plain",
    [
        "bartscore", "bartscore-r|prompt:Such as;a cat", "bertscore", "bleurt", "comet", "entailment",
        "entailment|direction:both", "nli", "nli-ref-sum|long:sentences", "prism", "sms", "unieval",
        "unieval|aspect:data-informativeness",
    ],
    indirect=True,
)  # fmt: skip
def test_empty_references_are_ignored_or_undefined_if_all_are(plain: Metric) -> None:
    first, second = "a blue dog ran", "the red dog"
    texts = [(first, second), (" ", first, "", second), ("", " \n")]
    whole, gaps, nothing = plain.score([Item("der Hund", "a red dog", references) for references in texts], no_progress)
    assert gaps.value == pytest.approx(whole.value, abs=1e-5)
    assert gaps.parts["condition"] == {0: 1, 1: 3}[int(whole.parts["condition"])]
    assert (nothing.value, nothing.status, nothing.reason) == (None, "undefined", "all references are empty")
    assert plain.score([Item("der Hund", "a red dog", ("",))], no_progress)[0].status == "undefined"


@pytest.mark.parametrize(
    "plain", ["bartscore", "bertscore", "embedding", "entailment", "prism", "sms|units:words"], indirect=True
)
def test_all_metrics_report_a_cut_text_in_the_same_words(plain: Metric) -> None:
    value = plain.score([Item("die Katze", "a dog", ("the cat sat on the mat " * 200,))], no_progress)[0]
    assert value.reason == question_metrics.TRUNCATED


def test_every_metric_is_described_and_signed_with_its_version() -> None:
    for name in NAMES:
        with configured_for(name):
            metric = registry.load_metric(name)
            fields = dict(part.split(":", 1) for part in metric.signature().split("|")[1:])
        assert (metric.spec.name, fields["v"]) == (name, str(metric.spec.version))
        assert ("rev" in fields) == bool(metric.spec.needs & {*MODEL_KINDS, "judge"}), name
        assert metric.spec.paper, name
        assert metric.spec.help.endswith("."), name


NEEDED: dict[str, str] = {
    "embedding": "reference encoder", "embedding|against:source": "source encoder", "embedding|against:both": "source reference encoder",
    "entailment": "reference nli", "entailment|direction:source-output": "source nli", "gpt-ppl": "lm", "mlm-ppl": "mlm",
    "smart1": "source reference", "smart1|against:minimum": "source reference", "smart1|against:reference": "reference",
    "smart1|against:source|measure:p": "source", "smartX|matcher:embedding|against:source": "source encoder",
    "unieval|aspect:fluency": "unieval", "unieval|aspect:relevance": "reference unieval", "unieval": "source reference unieval",
}  # fmt: skip


def test_what_a_metric_needs_follows_its_options() -> None:
    assert {name: registry.load_metric(name).spec.needs for name in NEEDED} == {
        name: set(needs.split()) for name, needs in NEEDED.items()
    }


SIGNED = (
    "bertscore|v:1|measure:f|layer:5|idf:no|baseline:no|nrefs:best|model:encoder|rev:", "bleurt|v:1|nrefs:best|model:bleurt|rev:",
    "comet|v:1|nrefs:best|model:comet|rev:", "embedding|v:1|against:reference|nrefs:best|model:encoder|rev:",
    "entailment|v:1|direction:reference-output|nrefs:best|model:nli|rev:", "nli-src|v:1|formula:-c|direction:source-output|long:windows|model:nli|rev:",
    "nli|v:2|formula:e|direction:both|long:windows|nrefs:best|model:nli|rev:", "prism|v:1|nrefs:best|model:",
    "sms|v:1|units:sentences|sentences:prose|prose:3|nrefs:best|model:encoder|rev:",
    "unieval|v:1|aspect:overall|sentences:prose|prose:3|nrefs:best|model:unieval|rev:",
)  # fmt: skip


def test_signatures_name_options_and_model() -> None:
    for begins in SIGNED:
        with configured_for(name := begins.partition("|")[0]):
            assert registry.load_metric(name).signature().startswith(begins), name
    with configured_for("nli"):
        assert (
            "|long:sentences|sentences:point|" in registry.load_metric("nli|long:sentences|sentences:point").signature()
        )
        assert "|aspect:coherence|model:" in registry.load_metric("unieval|aspect:coherence").signature()
        assert "dtype" not in registry.load_metric("bertscore").signature()
    with configured_for("prism"):
        assert "|languages:de-en|" in registry.load_metric("prism").signature()


def test_standard_metrics_exist() -> None:
    assert set(registry.STANDARD) <= set(registry.METRICS)


def test_a_misspelt_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UserError, match="Did you mean chrf"):
        registry.load_metric("crhf")
