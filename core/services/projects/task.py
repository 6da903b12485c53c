"""Guess the task of a dataset from its texts, with the default metrics and the error typology for it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Literal

from core.data import Dataset
from core.errors import UserError
from core.metrics.base import Metric
from core.metrics.registry import STANDARD
from core.models import checkpoint
from core.text.languages import SAMPLE, UNKNOWN, language

Task = Literal["translation", "summary", "data-to-text", "other"]

LOOKED_AT = 200
"""Number of outputs that the guess is based on, spread over the dataset."""
LONGER, LONG = 3.0, 300
"""Sources of summaries are this many times as long as the outputs, and have at least this many characters."""
RARE, NAMED = 0.1, 4
"""Smallest share of a language that is warned of, and the metrics that a warning names."""
LONG_OUTPUT = 250
"""Without sources, outputs of at least this many characters are taken for summaries: a translated sentence is shorter."""
_DATA = re.compile(r"""^\s*[\[{<(]|\w+\[[^\]]*\]|\w+\(.*=.*\)|\w+\s*=\s*['"]|\S \| \S.* \| \S|\w+::?\w+,""", re.DOTALL)

WITHOUT: Mapping[Task, tuple[str, ...]] = {"summary": ("ter",)}
"""Default metrics that are not meant for a task: TER counts the edits that turn an output into its reference."""

TYPOLOGY: Mapping[Task, str] = {"summary": "summaries", "data-to-text": "data_to_text"}
"""Bundled error typologies of tasks; MQM fits the others."""


def task_of(dataset: Dataset) -> Task:
    """Return the task that sources and outputs look like; without sources, the outputs alone. "other" if nothing fits."""
    pairs = [(item.source, item.hypothesis) for _, item in dataset.items() if item.source and item.hypothesis]
    pairs = pairs[:: max(1, len(pairs) // LOOKED_AT)]
    if not pairs:
        lengths = [len(output.text) for output in dataset.outputs if output.text]
        return "summary" if lengths and median(lengths) >= LONG_OUTPUT else "other"
    if sum(bool(_DATA.search(source)) for source, _ in pairs) > len(pairs) / 2:
        return "data-to-text"
    if median(len(s) / len(h) for s, h in pairs) >= LONGER and median(len(s) for s, _ in pairs) >= LONG:
        return "summary"
    if median(_shared(source, output) for source, output in pairs) < 0.4:
        return "translation"
    return "other"


def default_metrics(task: Task) -> tuple[str, ...]:
    """Return the metrics chosen at first for a task."""
    return tuple(name for name in STANDARD if name not in WITHOUT.get(task, ()))


def output_languages(dataset: Dataset) -> dict[str, float]:
    """Return the languages that outputs look like, each with its share of the outputs looked at."""
    texts = [output.text for output in dataset.outputs if output.text]
    return languages_of(texts[:: max(1, len(texts) // LOOKED_AT)])


def languages_of(texts: Iterable[str]) -> dict[str, float]:
    """Return the languages of texts with their shares. Short neighbours are looked at together: a few words tell little."""
    counts, together = Counter[str](), ""
    for text in texts:
        together = f"{together} {text}".strip()
        if len(together) >= SAMPLE:
            counts[language(together)] += 1
            together = ""
    if together:
        counts[language(together)] += 1
    return {name: n / counts.total() for name, n in counts.most_common()}


def unread(languages: Mapping[str, float]) -> tuple[str, ...]:
    """Return the languages that models trained on English do not read and that are not rare."""
    return tuple(name for name, share in languages.items() if name not in ("English", UNKNOWN) and share >= RARE)


def mostly_unread(languages: Mapping[str, float]) -> bool:
    """Return whether at least half of the texts are in languages that models trained on English do not read."""
    return sum(languages[name] for name in unread(languages)) >= 0.5


def may_preselect(metric: Metric, languages: Mapping[str, float]) -> bool:
    """Return whether a form may choose a metric at first for texts in these languages: not if its model does not read most of them."""
    return not (mostly_unread(languages) and reads_only_english(metric))


def reads_only_english(metric: Metric) -> bool:
    """Return whether a metric uses a model that was trained on English only; False if its model is missing."""
    try:
        return metric.spec.needs_model and checkpoint.reads_only_english(metric.signature())
    except UserError:
        return False


def language_warning(languages: Mapping[str, float], labels: Sequence[str]) -> str:
    """Return a warning that these metrics use models that do not read the language, or "" if there is none."""
    names = unread(languages)
    if not names or not labels:
        return ""
    more = f" and {len(labels) - NAMED} more" if len(labels) > NAMED else ""
    return (
        f"The bundled models were trained on English; outputs look like {', '.join(names)}. Scores of {', '.join(labels[:NAMED])}{more} "
        "say little about such outputs, whatever their agreement with human scores. Configure models for this language on Models."
    )


def _shared(source: str, output: str) -> float:
    """Return the share of the output's words that are in the source."""
    words = set(output.casefold().split())
    return len(words & set(source.casefold().split())) / max(1, len(words))
