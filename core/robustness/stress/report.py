"""The results of a stress test run with a lossless JSON form, and advice for metrics that fail."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from core.errors import UserError
from core.perturbations.base import NoiseAspect

FORMAT = "errorscope stress report"
VERSION = 1
Whole = Annotated[int, Field(ge=-(1 << 63), lt=1 << 63)]
Verdict = Literal["pass", "fail", "unclear", "untold"]
"""Verdicts as files and databases store them; texts show `VERDICT_NAMES`."""
VERDICT_NAMES: dict[Verdict, str] = {"pass": "pass", "fail": "fail", "unclear": "inconclusive", "untold": "no result"}


PARTS = ("precision", "recall", "f", "coherence", "consistency", "fluency", "relevance", "overall")
"""The parts of a value that are followed over noise levels, in display order; other parts (chosen reference, terms of a
formula) are not."""


class LevelResult(NamedTuple):
    """One metric at one noise level, over the gold texts that the test can change at its strongest level. None means undefined.

    `ratio` is the noise ratio. `mean` (over seeds and texts) and `sd` (between seeds; 0 without random draws) are in the metric's unit.
    `drop` is gold minus noised, above 0 if the metric reacts correctly; `low` and `high` are its 95 % bootstrap CI over texts, `p` its
    one-sided p-value (H0: drop ≤ 0). `step_p` is the one-sided p-value of a rise from the level before; None at the first level and if
    the test is not graded.
    """

    label: str
    strength: float
    ratio: float
    mean: float | None
    sd: float | None
    drop: float | None
    low: float | None
    high: float | None
    p: float | None
    step_p: float | None = None
    parts: dict[str, float] = {}
    """Means of precision, recall …, if the metric has them. Never changed in place."""


class Offender(NamedTuple):
    """A noised text that scores better than its gold text, by `rise` > 0 in the metric's unit."""

    id: str
    level: str
    seed: Whole
    source: str | None
    reference: str | None
    gold: str
    noised: str
    gold_score: float
    noised_score: float
    rise: float


class StressTestResult(NamedTuple):
    """One metric under one test.

    `texts` counts the compared texts, `undefined` those left out because a score is missing. `gold` is their mean score without noise,
    `gold_parts` are as `LevelResult.parts`. `published` is the paper's rule (every level below gold and, if graded, below the level
    before), None if undefined. `verdict` and its explanation `why` come from `core.robustness.stress.verdict`.
    """

    test: str
    metric: str
    texts: Whole
    undefined: Whole
    gold: float | None
    gold_parts: dict[str, float]
    points: tuple[LevelResult, ...]
    verdict: Verdict
    why: str
    published: bool | None
    worst: tuple[Offender, ...] = ()


class StressTestInfo(NamedTuple):
    """A test as it was run. `touched` gold texts could be noised at the strongest level; `reasons` say why the others could not,
    most frequent first. `signature` names everything the noised texts depend on."""

    name: str
    label: str
    aspect: NoiseAspect
    graded: bool
    levels: tuple[str, ...]
    seeds: Whole
    touched: Whole
    untouched: Whole
    reasons: tuple[tuple[str, Whole], ...]
    signature: str


class MetricFacts(NamedTuple):
    """A metric as it was run; `small` if its scores depend on the small bundled models."""

    name: str
    label: str
    signature: str
    higher_is_better: bool
    small: bool
    seconds: float


class Report(NamedTuple):
    """A whole run, with a cell per test and metric. `gold` names the gold texts, `data` the files or the project with counts; `made` is the
    time in UTC."""

    name: str
    made: str
    gold: str
    data: str
    texts: Whole
    seed: Whole
    seeds: Whole
    draws: Whole
    tests: tuple[StressTestInfo, ...]
    metrics: tuple[MetricFacts, ...]
    cells: tuple[StressTestResult, ...]
    notes: tuple[str, ...] = ()

    def cell(self, test: str, metric: str) -> StressTestResult:
        return next(c for c in self.cells if (c.test, c.metric) == (test, metric))

    def test(self, name: str) -> StressTestInfo:
        return next(t for t in self.tests if t.name == name)

    def metric(self, name: str) -> MetricFacts:
        return next(m for m in self.metrics if m.name == name)

    def failing(self) -> list[StressTestResult]:
        return [c for c in self.cells if c.verdict == "fail"]


LARGEST = 1 << 28
"""The largest JSON text that is read, in characters."""
_CELLS = "one cell per test and metric"


class _ReportFile(NamedTuple):
    format: Literal["errorscope stress report"]
    version: Annotated[int, Field(ge=VERSION, le=VERSION)]
    report: Report


_FILE = TypeAdapter(_ReportFile, config=ConfigDict(strict=True, allow_inf_nan=False, extra="forbid"))


def as_json(report: Report) -> str:
    """Return the whole report as JSON, which `from_json` reads back unchanged."""
    whole = {"format": FORMAT, "version": VERSION, "report": _plain(report)}
    return json.dumps(whole, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def from_json(text: str) -> Report:
    """Return the report that `as_json` wrote. Raises UserError for anything else: another format or version, a value of the wrong type,
    half a surrogate pair, a missing or repeated test, metric or cell, more than `LARGEST` characters."""
    if len(text) > LARGEST:
        raise _refused(f"{len(text):,} characters", f"at most {LARGEST:,}")
    try:
        report = _FILE.validate_json(text).report
    except ValidationError as error:
        raise _unreadable(error) from error
    _check(report)
    return report


def _check(report: Report) -> None:
    tests, metrics = {t.name: t for t in report.tests}, {m.name for m in report.metrics}
    if len(tests) < len(report.tests) or len(metrics) < len(report.metrics):
        raise _refused("a repeated test or metric", "each of them once")
    places = [(c.test, c.metric) for c in report.cells]
    if len(set(places)) < len(places) or any(test not in tests or metric not in metrics for test, metric in places):
        raise _refused("a repeated cell, or a cell of an unknown test or metric", _CELLS)
    if not places or len(places) < len(tests) * len(metrics):
        raise _refused(f"{len(places)} cells for {len(tests)} tests and {len(metrics)} metrics", _CELLS)
    if any(tuple(p.label for p in c.points) != tests[c.test].levels for c in report.cells):
        raise _refused("a cell with other levels than its test", "one point per level")


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        fields = getattr(value, "_fields", None)
        return {f: _plain(v) for f, v in zip(fields, value, strict=True)} if fields else [_plain(v) for v in value]
    return value


def _unreadable(error: ValidationError) -> UserError:
    """Return what is wrong with a file, from the first error of its fields."""
    first = error.errors(include_url=False)[0]
    where, field = ".".join(map(str, first["loc"])), first["loc"][:1]
    if first["type"] == "json_invalid":
        return _refused(f"i{first['msg'][1:]}", f"an {FORMAT}")
    if field == ("version",):
        return _refused(f"version {_excerpt(first['input'])}", f"version {VERSION}")
    if field != ("report",) or len(first["loc"]) == 1 and first["type"] == "missing":
        return _refused("another file format", f"an {FORMAT}, written by `stress --json`")
    expected = {"missing": "a value", "extra_forbidden": "no such field"}.get(first["type"], first["msg"])
    expected = expected.removeprefix("Input should be ")
    return _refused(f"{where}: {_excerpt(first['input'])}", f"{expected}, as written by `stress --json`")


def _excerpt(value: Any) -> str:
    """Return the beginning of a value, for a message."""
    try:
        return json.dumps(value, ensure_ascii=False)[:60]
    except (ValueError, RecursionError):  # a whole number of thousands of digits; nesting too deep
        return type(value).__name__


def _refused(got: str, expected: str) -> UserError:
    return UserError("this stress report cannot be read", got=got, expected=expected, hint="Run the stress test again")


_BOTH = "Report precision, recall and F side by side, or an F that weighs recall above precision (section 5.5.2)."
_COMPANY = (
    "Report it together with a metric of another kind that passes this test: metrics complement each other (section 8)."
)

TESTS: Mapping[str, str] = {
    "truncation": f"Text that was cut off can score higher where precision gains more than recall loses. {_BOTH}",
    "article-removal": f"Missing articles go unnoticed here (appendix I). {_COMPANY}",
    "preposition-removal": f"Missing prepositions go unnoticed here (appendix I). {_COMPANY}",
    "stopword-removal": f"Missing function words go unnoticed here (appendix I). {_COMPANY}",
    "verb-lemmatization": f"Wrong verb forms go unnoticed here (appendix I). {_COMPANY}",
    "token-drop": f"Missing words go unnoticed here. {_BOTH}",
    "repeated-token": f"Repeated words go unnoticed here. Add a measure of repetition, such as the share of n-grams that occur twice (appendix E). {_COMPANY}",
    "local-swap": f"Neighbouring words in the wrong order go unnoticed here. {_COMPANY}",
    "middle-swap": f"Halves of sentences in the wrong order go unnoticed here. {_COMPANY}",
    "noised-punctuation": f"Wrong punctuation goes unnoticed here (appendix I); many metrics drop it before they compare. {_COMPANY}",
    "sentence-switching": "The order of sentences goes unnoticed here. Add a metric of fluency or coherence that reads the whole text, such as the perplexity of a language model (section 5.5.2).",
    "sentence-replacement": f"Sentences from another text go unnoticed here. {_COMPANY}",
    "negated-sentences": f"Statements turned into their opposite go unnoticed here. {_COMPANY}",
    "generic-entity": f"Names replaced by general phrases, which lose information, go unnoticed here. {_COMPANY}",
    "entity-switching": f"Facts with exchanged names go unnoticed here. {_COMPANY}",
    "verb-switching": f"Exchanged verbs go unnoticed here. {_COMPANY}",
    "noun-switching": f"Exchanged nouns go unnoticed here. {_COMPANY}",
    "diverge": f"Text that drifts away from its meaning, word by word, goes unnoticed here (appendix I, Table 17). {_COMPANY}",
    "positioned-random": "Errors in one place of the text weigh less than in another. Use a model that attends to the whole text, a masked or discriminative one rather than one that reads left to right (section 5.1).",
    "positioned-shuffle": "Disorder in one place of the text weighs less than in another. Use a model that attends to the whole text, a masked or discriminative one rather than one that reads left to right (section 5.1).",
    "injection": "A sentence without content is scored like a good output. Compare with a metric of word overlap: if it is low and this one is high, read the output (section 5.2).",
    "frequent-4gram": "A sequence of frequent phrases scores like good text. Also report a measure of diversity, such as the share of repeated 4-grams (section 5.3).",
    "frequent-3gram": "A sequence of frequent phrases scores like good text. Also report a measure of diversity, such as the share of repeated n-grams (section 5.3, appendix G).",
    "repetition": "A text with a repeated ending scores like good text. Also report a measure of diversity, such as the share of repeated 4-grams or n-gram entropy (appendix E).",
    "copy-source": "A copy of the source scores like a good output. Reject outputs that are too similar to their source; in summarization check the length as well, in translation the language (appendix D).",
}  # fmt: skip

_RECALL = "In He et al. (2023), BARTScore’s recall noticed truncated text, its precision and faithfulness did not: report recall as well (appendix I)."
_QE = "In He et al. (2023), its variants without references failed this: use references if you have them (Table 1)."
_LENGTH = "A mean over words ignores length"
_FLUENCY = "BARTScore’s recall failed several fluency tests in He et al. (2023), those of function words among them: do not use it alone (appendix I)."

_FINDINGS: tuple[tuple[tuple[str, ...], tuple[str, ...], str], ...] = (
    (("truncation",), ("rouge2", "rougeL"), "He et al. (2023) found ROUGE-2 and ROUGE-L, as F, to fail this on news summaries: show their precision and recall (appendix I)."),
    (("truncation",), ("bertscore",), "He et al. (2023) found BERTScore’s precision and F to fail this, its recall not: show all three (section 5.5.2, Figure 5)."),
    (("truncation",), ("bartscore", "bartscore-p", "bartscore-faithfulness"), _RECALL),
    (("truncation",), ("comet-qe", "prism-src"), _QE),
    (("truncation",), ("unieval",), "Its overall score failed this in He et al. (2023): report its aspects one by one (Table 1)."),
    (("truncation",), ("gpt-ppl", "mlm-ppl"), "In He et al. (2023), perplexity changed very little when text was missing: add a metric that compares with a reference (appendix I)."),
    (("sentence-switching",), ("rouge2",), "ROUGE-2 hardly sees order beyond two words (appendix I)."),
    (("sentence-switching",), ("bartscore-r",), "BARTScore’s recall failed this in He et al. (2023): report it with the other variants, never alone (appendix I)."),
    (("noised-punctuation",), ("rouge1",), "ROUGE ignores punctuation."),
    (("noised-punctuation",), ("rouge2", "rougeL"), "ROUGE ignores punctuation; ROUGE-2 and ROUGE-L failed this in He et al. (2023) (appendix I)."),
    (("article-removal", "preposition-removal", "stopword-removal", "noised-punctuation"), ("bartscore-r",), _FLUENCY),
    (("article-removal",), ("comet-qe",), "In He et al. (2023), COMET without references failed this on summaries; with references it did better (appendix I)."),
    (("diverge",), ("comet-qe",), "COMET without references failed this in He et al. (2023): use references (appendix I, Table 17)."),
    (("injection",), ("unieval",), "The text can answer the question that this metric asks its model (section 5.2)."),
    (("repetition",), ("bartscore", "bartscore-p", "bartscore-r", "bartscore-faithfulness"), "In He et al. (2023), repetition raised the scores of all variants of BARTScore (appendix E, Table 13)."),
    (("copy-source",), ("bartscore", "bartscore-faithfulness"), f"{_LENGTH}; a sum would favour short texts instead (appendix D)."),
    (("copy-source",), ("bartscore-r",), f"{_LENGTH}, and recall does not penalise extra text (appendix D)."),
    (("copy-source",), ("bertscore",), "Recall does not penalise extra text: use F (appendix D)."),
    (("copy-source",), ("comet-qe",), "It does not check the language of the output: do so before scoring (appendix D)."),
    (("copy-source",), ("unieval",), "A copy has every quality that the metric asks about, but is not a summary: check the length (appendix D)."),
)  # fmt: skip

SPECIAL: Mapping[tuple[str, str], str] = {
    (test, metric): finding for tests, metrics, finding in _FINDINGS for test in tests for metric in metrics
}
"""Findings of the paper, by test and by the metric's name without options."""


SOURCE = "Sections, tables and appendices are those of He et al. (2023)."
_BY_ENTAILMENT = "entity-switching", "negated-sentences"
_ENTAILMENT = "nli", "nli-src", "nli-ref-sum", "entailment", "menli"


def advice(test: str, metric: str) -> str:
    """Return advice for a metric that fails a test: first the findings on this metric, then on the test. Own injections get the advice
    for the injection test; other tests outside the registry get ""."""
    known = "injection" if test.startswith("injection") else test
    general = TESTS.get(known, "")
    own = SPECIAL.get((known, metric.partition("|")[0]), "")
    if known in _BY_ENTAILMENT:
        larger = metric.partition("|")[0] in _ENTAILMENT
        general += f" {'A larger entailment model' if larger else 'A metric built on entailment'} may notice them."
    return f"{own} {general} {SOURCE}".strip() if general else ""
