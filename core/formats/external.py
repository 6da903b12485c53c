"""External scores: merge them over several files, and check the names of their metrics."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import NamedTuple, Protocol

from core.data import ExternalScores, OutputKey, SourceFile, Value
from core.errors import ImportProblems, Problem
from core.formats.files import Upload, base_name
from core.formats.problems import counted, shown, shown_segment
from core.formats.role_names import words_of

LONGEST = 120
_FAMILY = re.compile(
    r"(x?comet|cometkiwi|bleurt|metricx|bertscore|bartscore|moverscore|yisi|gemba|gpt|sacrebleu|sentbleu|chrf|rouge|hlepor|"
    r"questeval|unieval|summac|factcc)[a-z]*\d*[a-z]?|(llm|prism|meteor|unite|bleu|ter|wer|cer|perplexity|ppl|geval)\d*"
)
_LOWER = frozenset({"ter", "wer", "cer", "tercom", "perplexity", "ppl"})
_SEG_SCORE = re.compile(r"\.seg\.score(\.gz)?$", re.IGNORECASE)
_REFERENCE = re.compile(r"src|source|(\w*ref|reference)s?[a-z]?")
_OF_PEOPLE = re.compile(r"[A-Za-z_]{2,}-[A-Za-z_]{2,}\..")


class Merged(NamedTuple):
    """The scores of a metric after an import; `changed` are the new values."""

    scores: ExternalScores
    changed: Mapping[OutputKey, Value]
    unchanged: int


def merge(old: ExternalScores | None, new: ExternalScores, *, replace: bool = False) -> Merged:
    """Merge `new` into the scores of the same name: add outputs, keep equal values, fill in missing ones.

    With `replace`, the old scores are dropped unless both are equal. Raises `ImportProblems` (one problem) if a value or the direction
    differs.
    """
    if old is None:
        return Merged(new, new.values, 0)
    turned = old.higher_is_better != new.higher_is_better
    differs = [k for k, v in new.values.items() if _differs(old.values.get(k), v)]
    same = not turned and not differs
    if replace and not (same and new.values.keys() == old.values.keys()):
        return Merged(new, new.values, 0)
    if not same:
        first = differs[0] if differs else None
        pair = (first, new.values[first].value, old.values[first].value) if first else None
        raise ImportProblems([contradiction(old, new, len(differs), pair)])
    changed = {
        k: v
        for k, v in new.values.items()
        if k not in old.values or (v.value is not None and old.values[k].value is None)
    }
    if not changed:
        return Merged(old, {}, len(new.values))
    files = (*old.files, *(f for f in new.files if f[1:] not in {was[1:] for was in old.files}))
    whole = ExternalScores(old.name, old.higher_is_better, files, {**old.values, **changed})
    return Merged(whole, changed, len(new.values) - len(changed))


def _differs(old: Value | None, new: Value) -> bool:
    return old is not None and old.value is not None and new.value is not None and old.value != new.value


class MetricOrigin(Protocol):
    """The name, direction and files of a metric."""

    @property
    def name(self) -> str: ...
    @property
    def higher_is_better(self) -> bool: ...
    @property
    def files(self) -> tuple[SourceFile, ...]: ...


def contradiction(
    old: MetricOrigin, new: MetricOrigin, n_differ: int, first: tuple[OutputKey, float | None, float | None] | None
) -> Problem:
    """Return the problem of a metric whose direction or values differ; `first` is the first output that differs, with the new and the old
    value."""
    where, files = " + ".join(f.name for f in old.files), ", ".join(f.name for f in new.files)
    todo = "Choose another name, or replace the project's scores of this metric"
    place = f"metric {shown(new.name)}"
    if old.higher_is_better != new.higher_is_better:
        return Problem(files, 0, place, _direction(new), f"{_direction(old)}, as in {where}", todo)
    if first is None:
        raise ValueError("the metrics do not differ")
    key, found, was = first
    scores = f"{counted(n_differ, 'score')} that differ{'s' if n_differ == 1 else ''}"
    others = f"{scores}: {found:g} for {shown(key.system)}, {shown_segment(key.segment)}"
    return Problem(files, 0, place, others, f"{was:g} there, as in {where}", todo)


def _direction(scores: MetricOrigin) -> str:
    return f"{'higher' if scores.higher_is_better else 'lower'} is better"


def source_file(upload: Upload, column: str = "") -> SourceFile:
    """Return the file with the digest of its bytes, and for a table its column, for a signature."""
    return SourceFile(base_name(upload.name), hashlib.sha256(upload.data).hexdigest(), column)


def no_score(file: str) -> Value:
    return Value(None, "undefined", f"{base_name(file)} gives no score here")


def name_problem(name: str, file: str = "", column: str = "") -> Problem | None:
    """Return what is wrong with the name of an external metric, or None. It may equal that of a built-in metric: they are stored and
    shown separately."""
    todo = "Type another name"
    if not name.strip():
        return Problem(file, 0, column, "no name for the metric", "a name", todo)
    if len(name) > LONGEST or "|" in name or not name.isprintable():
        expected = f"at most {LONGEST} characters on one line, and no |"
        return Problem(file, 0, column, f"the name {shown(name)}", expected, todo)
    return None


def looks_like_a_metric(name: str) -> bool:
    """Return whether a column has the name of an automatic metric (COMET, BLEURT, chrF, GPT-4 …) rather than of a human score."""
    words = re.split(r"[\W_]+", name.casefold())
    return any(_FAMILY.fullmatch(word) for word in words) and "human" not in words


def lower_is_better(name: str) -> bool:
    """Return whether a column has the name of an error rate or perplexity, for which lower is better."""
    return "".join(c for c in name.casefold() if c.isalnum()) in _LOWER


def file_of_a_metric(name: str) -> bool:
    """Return whether a `.seg.score` file is named `METRIC-REF`, as mt-metrics-eval names the scores of metrics, or after a known metric.

    REF is `src` or the name of a reference: `refA`, `synthetic_ref`.
    """
    if not _SEG_SCORE.search(base_name(name)):
        return False
    whole = _SEG_SCORE.sub("", base_name(name))
    metric, _, reference = whole.rpartition("-")
    return bool(metric and any(map(_REFERENCE.fullmatch, words_of(reference)))) or looks_like_a_metric(whole)


def file_of_people(name: str) -> bool:
    """Return whether a `.seg.score` file is named `SRC-TGT.NAME`, as mt-metrics-eval names human scores."""
    return _OF_PEOPLE.match(_SEG_SCORE.sub("", base_name(name))) is not None
