"""What every metric is declared with: options, spec, and the metric itself; and the description of external scores.

Options are declared, parsed, formatted and labelled here; expressions, forms and tables all use them. Values appear in metric expressions,
`name|option:value|…`; reserved characters are percent-encoded.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol
from urllib.parse import quote, unquote

from core.data import Item, SegmentKey, Value
from core.errors import UserError
from core.formats.parsing.numbers import parse_number as finite
from core.formatting import format_count, format_duration
from core.progress import Progress
from core.refine import prompts
from core.refine.result import digest, one_line
from core.signature import EXTERNAL, external_metric, format_exact, signature
from core.text.sentences import DEFAULT, SPLITTERS

Kind = Literal["whole", "decimal", "choice", "several", "yes_no", "phrases", "text"]
Values = Mapping[str, Any]
"""Option values by name; whole: int (or None where `none` allows it), decimal: float, choice and text: str, several
and phrases: tuples of str, yes_no: bool."""

RESERVED = "%|:;,"
LIST, DIGEST = "@", "#"
SHOWN = 40
_WHOLE = re.compile(r"[+-]?[0-9]+")
_DIGEST = re.compile(r"#(\d+)-([0-9a-f]{8})")


def _always(values: Values) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a metric.

    `label` names it in a form; `word` is its template in the label of a metric ("k = {}"). `none` is the word for None, if
    None is allowed; `low` and `high` bound numbers; `choices` lists the allowed words, or suggestions if `kind` is "text".
    `when(values)` returns whether the option has an effect; if not, it counts as its default. `settle` normalises a text
    or raises UserError.
    """

    name: str
    kind: Kind
    default: Any
    help: str
    label: str = ""
    word: str = ""
    choices: tuple[str, ...] = ()
    low: float = 0
    high: float = float("inf")
    none: str = ""
    when: Callable[[Values], bool] = _always
    settle: Callable[[str], str] = str

    @property
    def expected(self) -> str:
        """Return a description of the allowed values."""
        if self.kind in ("whole", "decimal"):
            kind = "a whole number" if self.kind == "whole" else "a number"
            bounds = f"from {format_exact(self.low)} to {format_exact(self.high)}"
            return f"{kind} {bounds}" + (f", or “{self.none}”" if self.none else "")
        if self.kind == "several":
            return "some of " + ", ".join(self.choices) + ", joined by +"
        if self.kind == "phrases":
            return "phrases joined by ; or @ and the name of a list"
        if self.kind == "text":
            return ", ".join(self.choices) + " or another"
        return "yes or no" if self.kind == "yes_no" else "one of " + ", ".join(self.choices)

    def parse(self, text: str, metric: str = "") -> Any:
        """Return the value that a text stands for. Raises UserError naming the option, the text and what was expected."""
        where = f"option {self.name} of {metric}" if metric else f"option {self.name}"
        if self.kind == "phrases":
            return _phrases(text, where)
        if self.kind == "text":
            return self.settle(unquote(text).strip())
        value = self._read(text.strip())
        if value is not _WRONG:
            return value
        near = get_close_matches(text.strip(), self.choices, n=1)
        raise UserError(
            "this option does not accept this value",
            where=where,
            got=f"“{text}”",
            expected=self.expected,
            hint=f"Did you mean {near[0]}?" if near else "",
        )

    def _read(self, text: str) -> Any:
        if self.kind == "yes_no":
            return {"yes": True, "no": False}.get(text.lower(), _WRONG)
        if self.kind == "choice":
            return text if text in self.choices else _WRONG
        if self.kind == "several":
            words = {w.strip() for w in text.split("+")}
            return tuple(c for c in self.choices if c in words) if words <= set(self.choices) else _WRONG
        if self.none and text == self.none:
            return None
        parsed = math.inf if text == "inf" and self.kind == "decimal" else finite(text)
        if parsed is None or (self.kind == "whole" and not _WHOLE.fullmatch(text)):
            return _WRONG
        value: int | float = int(text) if self.kind == "whole" else parsed
        return value if self.low <= value <= self.high else _WRONG

    def write(self, value: Any) -> str:
        """Return a value as text that `parse` reads back."""
        if value is None:
            return self.none
        if self.kind == "yes_no":
            return "yes" if value else "no"
        if self.kind in ("whole", "decimal"):
            return format_exact(value) if isinstance(value, float) else str(value)
        if self.kind == "several":
            return "+".join(value)
        if self.kind == "text":
            return encoded(value)
        return ";".join(map(encoded, value)) if self.kind == "phrases" else str(value)

    def brief(self, value: Any) -> str:
        """Return what `write` does, but phrases as count and digest. `parse` reads those only if the list is known."""
        return f"{DIGEST}{len(value)}-{digest(value)}" if self.kind == "phrases" else self.write(value)

    def say(self, text: str) -> str:
        """Return a written value as it appears in a label. A digest is shown as it is, without looking up its list."""
        if self.kind != "phrases":
            return (self.word or self.name + " {}").format(unquote(text) if self.kind == "text" else text)
        if match := _DIGEST.fullmatch(text):
            return _counted(int(match[1]), match[2])
        phrases = self.parse(text)
        if len(phrases) != 1:
            return _counted(len(phrases), digest(phrases))
        return f"prompt “{phrases[0] if len(phrases[0]) <= SHOWN else phrases[0][:SHOWN] + '…'}”"


_WRONG = object()

SENTENCE_SPLITTER = Option(
    "sentences", "choice", DEFAULT, "how texts are split into sentences: at the end marks of all scripts except after abbreviations (prose), at every end mark "
    "(rule), after . ? ! before a space (point), or with pySBD for a language", "Sentence splitter", "sentences by {}", choices=SPLITTERS,
)  # fmt: skip


def measure_option(units: str, others: str = "the reference's") -> Option:
    """Return the option that selects F, precision or recall."""
    words = f"F, precision (of the output's {units}) or recall (of {others})"
    return Option("measure", "choice", "f", words, "Measure", "measure {}", choices=("f", "p", "r"))


def encoded(phrase: str) -> str:
    """Return a phrase for use in an expression, with reserved characters percent-encoded."""
    first = phrase[:1] in (LIST, DIGEST)
    return "".join(
        quote(c, safe="") if c in RESERVED or not one_line(c) or (first and i == 0) else c for i, c in enumerate(phrase)
    )


def _counted(count: int, code: str) -> str:
    return f"{count} prompt{'s' if count != 1 else ''} {code}"


def _phrases(text: str, where: str) -> tuple[str, ...]:
    if match := _DIGEST.fullmatch(text.strip()):
        return prompts.with_digest(int(match[1]), match[2])
    if text.strip().startswith(LIST):
        return prompts.listed(text.strip()[1:])
    phrases = [unquote(part, errors="surrogateescape").strip() for part in text.split(";")]
    return tuple(dict.fromkeys(prompts.checked(phrase, where) for phrase in phrases if phrase))


Need = Literal[
    "source", "reference", "seq2seq", "encoder", "nli", "lm", "mlm", "unieval", "bleurt", "comet", "judge"
]  # texts of the item, names of core.models.configs, and a judge (core.judges)
Score = Callable[[Sequence[Item], Progress], list[Value]]
AllOutputs = Collection[tuple[SegmentKey, Item]]
"""All outputs of a dataset with their segments, so that equal texts of two segments count separately. They may be read from storage
in each pass; outputs of a segment follow each other."""


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """Static facts about a metric, used by forms, the command line and the common property tests.

    Scores are stored under `name`: the metric's own name, or an expression with all options that differ from their
    defaults (`core.metrics.registry`).
    """

    name: str
    label: str
    paper: str
    help: str
    range: tuple[float, float]
    needs: frozenset[Need]
    version: int = 1
    higher_is_better: bool = True
    options: tuple[Option, ...] = ()
    package: str = ""  # pip name of a package that is not among the requirements

    @property
    def needs_model(self) -> bool:
        """Return whether the metric runs a model in a process of this program. Judges run on a server."""
        return not self.needs <= {"source", "reference", "judge"}

    def signed(self, facts: Mapping[str, object]) -> str:
        """Return the signature of values that depend on these facts: options, packages, revisions of models."""
        return signature(self.name, {"v": self.version, **facts})


class JudgeCost(NamedTuple):
    """What a judge takes for some outputs: calls, tokens, seconds, and the price in the currency of the setting; None: not known."""

    calls: float
    tokens_in: float
    tokens_out: float
    seconds: float
    price: float | None

    def sentence(self, label: str) -> str:
        """Return for example "Judge MQM: 200 calls, about 130,000 tokens, roughly 3 min"."""
        tokens = round(self.tokens_in + self.tokens_out, -2)
        price = "" if self.price is None else f", price {self.price:.2f}"
        calls = format_count(round(self.calls), "call")
        return f"{label}: {calls}, about {tokens:,.0f} tokens, roughly {format_duration(self.seconds)}{price}"


class AsksJudge(Protocol):
    """What a metric that asks a judge says of it before it starts. All raise `UserError` if the judge is not configured."""

    @property
    def name(self) -> str: ...
    @property
    def host(self) -> str: ...  # that texts are sent to
    @property
    def is_local(self) -> bool: ...  # whether this is the same machine
    @property
    def batch(self) -> int: ...  # outputs that are scored together at least, so that the judge is busy

    def cost(self, items: Sequence[Item]) -> JudgeCost:
        """Return the estimated cost of scoring these items."""
        ...


class MetricEnded(UserError):  # noqa: N818  (a state, not a fault)
    """Raised by `Metric.score` if no further texts are to be tried. `finished` has the values that are complete."""

    finished: Mapping[Item, Value] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric ready to run.

    - `score(items, progress)` returns one `Value` per item, in order. An item that cannot be scored gets a status and a
      reason and does not affect the others.
    - `signature()` names everything the values depend on.
    - `with_options(values)` returns the same metric with other options; all options must be given.
    - `fit(outputs)` exists where a value depends on the other outputs, for example through idf weights. Call `for_outputs`.
    - `signature_for(items)` exists where the scripts of the items decide how words are found. Call `for_outputs`.
    - `judge` exists where the metric asks a judge, which is a server.
    """

    spec: MetricSpec
    signature: Callable[[], str]
    score: Score
    fit: Callable[[AllOutputs], Metric] | None = None
    signature_for: Callable[[Sequence[Item]], str] | None = None
    with_options: Callable[[Values], Metric] | None = None
    judge: AsksJudge | None = None

    def for_outputs(self, outputs: AllOutputs) -> Metric:
        """Return the metric fitted on these outputs if values depend on them, with the signature for their scripts.

        It keeps name, label, range and options; the signature of a fitted metric names the outputs.
        """
        if self.fit:
            fitted = self.fit(outputs)
            return replace(self, signature=fitted.signature, score=fitted.score, fit=None, signature_for=None)
        if self.signature_for is None:
            return self
        sign, items = self.signature_for, [item for _, item in outputs]
        return replace(self, signature=lambda: sign(items), signature_for=None)


def texts_compared(against: str) -> frozenset[Need]:
    """Return what a metric needs that compares with the source, the reference, or (any other word) both."""
    texts: dict[str, frozenset[Need]] = {"reference": frozenset({"reference"}), "source": frozenset({"source"})}
    return texts.get(against, frozenset({"source", "reference"}))


def family(spec: MetricSpec, make: Callable[[Values], Metric]) -> Metric:
    """Return the metric that `make` returns for the default options of `spec`.

    `make(values)` may change the texts and models it requires, and its range.
    """

    def with_options(values: Values) -> Metric:
        return replace(make(values), with_options=with_options)

    return with_options({option.name: option.default for option in spec.options})


MARK = "external"
"""Added in brackets to the label of an external score."""


def is_external(stored: str) -> bool:
    """Return whether scores stored under this name are external scores."""
    return stored.startswith(external_metric(""))


def is_judge(stored: str) -> bool:
    """Return whether a metric, stored under this name, is a language model that judges."""
    return stored.startswith(("judge-", "judge:"))


def name_of(stored: str) -> str:
    """Return the name without the prefix of external scores."""
    return stored.removeprefix(external_metric(""))


def describe(stored: str, signed: str) -> MetricSpec:
    """Return the spec of an external score. Without a signature, higher is assumed to be better."""
    parts = signed.split("|")
    facts = dict(p.split(":", 1) for p in parts[1:] if ":" in p) if parts[0] == EXTERNAL else {}
    name = name_of(stored)
    file, digest = facts.get("file", ""), facts.get("sha256", "")[:12]
    column = f", column {facts['column']}" if "column" in facts else ""
    origin = f", from {file}{column} (sha256 {digest}…)" if file else ""
    return MetricSpec(
        stored, f"{name} ({MARK})", "", f"External score, computed by another program{origin}", (-math.inf, math.inf),
        frozenset(), higher_is_better=facts.get("direction") != "lower",
    )  # fmt: skip
