"""Metric expressions: parsing, canonical form, labels, and one name per signature."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import UserError
from core.metrics import registry
from core.metrics.base import Option
from core.refine.result import one_line
from core.services.projects.sample import recorded

LINE = st.text(min_size=1).map(str.strip).filter(lambda t: t != "" and one_line(t))


def test_a_plain_name_is_what_it_always_was() -> None:
    for name in registry.METRICS:
        metric = registry.load_metric(name)
        assert metric is registry.load_metric(f"{name}")
        assert metric.spec.name == name
        defaults = {o.name: o.default for o in metric.spec.options}
        assert registry.expression(name, defaults) == registry.expression(name, {}) == name


def test_sample_signatures_are_unchanged() -> None:
    signed = [(metric, signature) for metric, signature in recorded() if "model:" not in signature]
    assert len(signed) == 6
    for metric, signature in signed:
        assert registry.load_metric(metric).signature() == signature


def test_the_default_signature_of_bartscore_pp_is_exact() -> None:
    assert (
        registry.load_metric("bartscore++")
        .signature()
        .startswith(
            "bartscore++|lambda:1|v:1|variant:f|nrefs:best|nt:overlap0.2+prob0.7|k:10|rounds:half|prompt:none|model:"
        )
    )
    assert (
        registry.load_metric("bartscore")
        .signature()
        .startswith("bartscore|v:1|variant:f|nrefs:best|prompt:none|model:")
    )


@pytest.mark.parametrize(
    ("written", "canonical", "label", "fact"),
    [
        ("bartscore++|rounds:8|k:5", "bartscore++|k:5|rounds:8", "BARTScore++ (k = 5, rounds ≤ 8)", "|k:5|rounds:8|"),
        ("bartscore++| k : 05 ", "bartscore++|k:5", "BARTScore++ (k = 5)", "|k:5|"),
        ("bartscore++|k:10", "bartscore++", "BARTScore++", "|k:10|"),
        ("bartscore++|rounds:0", "bartscore++|rounds:0", "BARTScore++ (rounds ≤ 0)", "|rounds:0|"),
        (
            "bartscore++|edits:substitute+delete",
            "bartscore++|edits:delete+substitute",
            "BARTScore++ (only delete+substitute)",
            "|edits:delete+substitute|",
        ),
        (
            "bartscore++|nt:probability|share:0.70",
            "bartscore++|nt:probability",
            "BARTScore++ (non-translation test: probability)",
            "|nt:prob0.7|",
        ),
        ("bartscore++|overlap:.1", "bartscore++|overlap:0.1", "BARTScore++ (overlap ≤ 0.1)", "|nt:overlap0.1+prob0.7|"),
        (
            "bartscore-r|side:decoder|prompt: Such as ;",
            "bartscore-r|prompt:Such as|side:decoder",
            "BARTScore R (prompt “Such as”, on the decoder)",
            "|prompt:decoder(Such as)|",
        ),
        (
            "bartscore|prompt:@mt",
            "bartscore|prompt:Such as",
            "BARTScore F (prompt “Such as”)",
            "|prompt:encoder(Such as)|",
        ),
        (
            "chrf|word_order:2|beta:3",
            "chrf|beta:3|word_order:2",
            "chrF (β = 3, word order 2)",
            "|nw:2|space:no|beta:3|",
        ),
        ("bleu|tokenize:zh", "bleu|tokenize:zh", "BLEU (words by zh)", "|tok:zh|"),
        ("rougeL|stem:yes", "rougeL|stem:yes", "ROUGE-L (stemmed)", "|stem:yes|"),
    ],
)
def test_an_expression_has_one_form_label_and_signature(written: str, canonical: str, label: str, fact: str) -> None:
    metric = registry.load_metric(written)
    assert (metric.spec.name, metric.spec.label) == (canonical, label)
    assert fact in metric.signature()
    assert registry.load_metric(canonical) is metric
    name, options = registry.split(written)
    assert registry.expression(name, options) == canonical
    described = registry.describe(canonical)
    assert described is not None
    assert described.label == label


@pytest.mark.parametrize(
    ("without", "plain"),
    [
        ("bartscore++|side:decoder", "bartscore++"),  # no prompt, no side
        ("bartscore++|nt:off|overlap:0.5|share:0.5", "bartscore++|nt:off"),  # no test, no limits
        ("bartscore++|nt:probability|overlap:0.5", "bartscore++|nt:probability"),
        ("bartscore|prompt: ; ", "bartscore"),
    ],
)
def test_an_option_without_effect_is_left_out(without: str, plain: str) -> None:
    assert registry.load_metric(without).spec.name == plain


def test_two_names_never_share_a_signature() -> None:
    """Storage refuses a signature under a second name."""
    choices: dict[str, list[Any]] = {
        "nt": ["overlap", "probability", "off"],
        "overlap": [0.2, 0.3],
        "share": [0.7, 0.6],
        "prompt": [(), ("Such as",), ("a|b",), ("a/b",), ("a", "b"), ("b", "a"), ("x" * 81,)],
        "side": ["encoder", "decoder"],
    }
    names: dict[str, str] = {}
    for values in itertools.product(*choices.values()):
        metric = registry.load_metric(registry.expression("bartscore++", dict(zip(choices, values, strict=True))))
        assert names.setdefault(metric.signature(), metric.spec.name) == metric.spec.name
    # overlap: 4 limits, probability: 2, off: 1; no prompt, or 6 prompts on 2 sides
    assert len(names) == len(set(names.values())) == (4 + 2 + 1) * (1 + 6 * 2)


@given(st.lists(LINE, max_size=4, unique=True))
def test_any_phrases_survive_an_expression(phrases: list[str]) -> None:
    text = registry.expression("bartscore", {"prompt": tuple(phrases), "side": "decoder"})
    name, options = registry.split(text)
    assert "," not in text
    assert name == "bartscore"
    assert options.get("side") == ("decoder" if phrases else None)
    prompt = next(o for o in registry.specs()["bartscore"].options if o.name == "prompt")
    assert prompt.parse(options.get("prompt", "")) == tuple(phrases)


@pytest.mark.parametrize("phrase", ["@mt", "#1-0a1b2c3d", "a|b:c", "50% of it", "a,b;c", "%7C"])
def test_a_phrase_that_looks_like_something_else_stays_itself(phrase: str) -> None:
    metric = registry.load_metric(registry.expression("bartscore", {"prompt": (phrase,)}))
    assert metric.spec.label == f"BARTScore F (prompt “{phrase}”)"


def test_long_phrases_are_stored_and_described_by_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    phrases = tuple(f"This is the phrase number {i}" for i in range(30))
    text = registry.expression("bartscore++", {"prompt": phrases, "side": "decoder", "k": 5})
    metric = registry.load_metric(text)
    name = metric.spec.name
    assert len(text) > 190 > registry.LONGEST_NAME >= len(name)
    described = registry.describe(name)
    assert described is not None
    assert described.label == metric.spec.label == f"BARTScore++ (k = 5, 30 prompts {name[-21:-13]}, on the decoder)"
    monkeypatch.delenv("ERRORSCOPE_PROMPTS", raising=False)
    with pytest.raises(UserError, match="ERRORSCOPE_PROMPTS"):
        registry.load_metric(name)
    path = tmp_path / "p.json"
    path.write_text(json.dumps({"thirty": phrases}), "utf-8")
    monkeypatch.setenv("ERRORSCOPE_PROMPTS", str(path))
    assert registry.load_metric(name) is metric
    assert registry.load_metric("bartscore++|prompt:@thirty|side:decoder|k:5") is metric


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bartscor|k:5", "Did you mean bartscore"),
        ("bartscore++|roundz:5", "no such option.*got “roundz”.*expected k, rounds.*Did you mean rounds"),
        ("bartscore++|k:five", "option k of bartscore.*got “five”.*a whole number from 1 to 1000"),
        ("bartscore++|k:0", "got “0”.*from 1 to 1000"),
        ("bartscore++|k:5.5", "a whole number"),
        ("bartscore++|rounds:-1", "or “half”"),
        ("bartscore++|overlap:nan", "a number from 0 to 1"),
        ("bartscore++|nt:probabilty", "Did you mean probability"),
        ("bartscore++|edits:", "some of insert, delete, substitute"),
        ("bartscore++|edits:insert+swap", "some of insert"),
        ("bartscore++|lambda:1.7", "needs no rescoring"),
        ("bartscore++-faithfulness|overlap:0.3", "no such option"),
        ("ter|tokenize:zh", "no options"),
        ("chrf|beta", "got “beta”; expected name.option:value"),
        ("chrf|", "this is not an option"),
        ("chrf|beta:3|beta:3", "twice"),
        ("rouge1|stem:maybe", "yes or no"),
        ("bartscore|prompt:@none", "no prompt list “none”"),
        ("bartscore|prompt:a%0Ab", "one line"),
        ("bartscore|prompt:%FF", "option prompt of bartscore"),
    ],
)
def test_a_bad_expression_names_option_value_and_expectation(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        registry.load_metric(text)


def test_values_may_be_given_as_they_are() -> None:
    options = {"k": 5, "rounds": None, "edits": ("delete",), "share": 0.5, "prompt": ("a", "b")}
    assert registry.expression("bartscore++", options) == "bartscore++|k:5|edits:delete|share:0.5|prompt:a;b"


@pytest.mark.parametrize("name", sorted(registry.METRICS))
def test_every_option_is_described_and_its_default_reads_back(name: str) -> None:
    for option in registry.specs()[name].options:
        assert option.help
        assert option.expected
        assert option.parse(option.write(option.default)) == option.default


def test_a_metric_that_is_gone_is_not_described() -> None:
    assert registry.describe("meteor") is None
    assert registry.describe("chrf|order:3") is None


def test_metrics_that_share_their_options_stand_together() -> None:
    groups = registry.with_options(registry.specs().values())
    assert [names for names, _ in groups][2:4] == [
        ["rouge1", "rouge2", "rougeL"],
        ["bartscore", "bartscore-p", "bartscore-r", "bartscore-faithfulness"],
    ]
    assert all(isinstance(option, Option) for _, options in groups for option in options)


def test_a_metric_asked_for_twice_is_used_once() -> None:
    texts = ["chrf", "chrf|beta:2", "chrf|beta:3", "chrf|beta:03"]
    assert [m.spec.name for m in registry.chosen(texts)] == ["chrf", "chrf|beta:3"]
