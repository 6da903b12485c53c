"""Read summaries with human scores for `reproduce`, in the formats of SummEval, REALSumm, QAGS, Rank19 and Newsroom.

Pickles are refused, because reading one can run any code.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple, TypeVar

from core.data import Item
from core.errors import UserError
from core.formats.files import beginning, file_at
from core.formats.parsing.json_text import NotJson, parsed
from core.formats.parsing.numbers import BOUNDS, json_number
from core.formats.problems import shown
from core.formats.streams.opened import text_bytes

T = TypeVar("T")
CORRECT, INCORRECT = "correct", "incorrect"
RATINGS = {
    "CoherenceRating": "coherence", "FluencyRating": "fluency", "InformativenessRating": "informativeness",
    "RelevanceRating": "relevance",
}  # fmt: skip
TO_JSON = "Convert it to JSON with the program that wrote it; docs/reproduce.md describes the format"
FORMS = (
    "one JSON object per line with source, references and outputs: {system: {text, human: {name: number}}}; BARTScore's "
    "data.pkl as JSON; QAGS's mturk_*.jsonl; Rank19's val_sentence_pairs.json; or Newsroom's human evaluation as CSV"
)


class Summary(NamedTuple):
    """One output with its human scores; `document` numbers the segment."""

    document: int
    system: str
    item: Item
    human: Mapping[str, float]


def read_summaries(path: Path) -> list[Summary]:
    """Return the summaries of a file in any of `FORMS`, also as .gz. Raises `UserError`."""
    text = _text(path)
    if path.name.removesuffix(".gz").endswith(".csv"):
        summaries = _checked(path, "the table", lambda: list(_newsroom(text)))
    else:
        summaries = list(_documents(path, text))
    if not summaries:
        raise UserError("this file has no summaries", where=path.name, expected=FORMS)
    return summaries


def check_human(summaries: Sequence[Summary], names: Iterable[str], file: str) -> None:
    """Raise `UserError` unless all summaries have human scores of these names."""
    for name in names:
        if lacking := sum(name not in s.human for s in summaries):
            raise UserError(
                f"{lacking} of {len(summaries)} summaries have no human score of this name", where=file, expected=name,
                got=", ".join(sorted({n for s in summaries for n in s.human})) or "no human scores",
            )  # fmt: skip


def _text(path: Path) -> str:
    file = file_at(path)
    if beginning(file, 1) == b"\x80" or path.name.removesuffix(".gz").endswith((".pkl", ".pickle")):
        raise UserError("pickles are not read, because opening one can run any program", where=path.name, hint=TO_JSON)
    return text_bytes(file, by_line=False).decode("utf-8-sig")


def _documents(path: Path, text: str) -> Iterator[Summary]:
    """Read one JSON value for the whole file, or one per line."""
    try:
        document = parsed(text)
    except NotJson:
        document = None
    lines: Iterable[tuple[str, Any]]
    if isinstance(document, list):
        lines = [(f"entry {n}", entry) for n, entry in enumerate(document, 1)]
    elif isinstance(document, dict) and not document.keys() & {"outputs", "summary_sentences", "correct_sent"}:
        lines = [(f"document {name}", entry) for name, entry in document.items()]
    else:
        lines = _lines(path, text)
    for number, (where, entry) in enumerate(lines):
        yield from _checked(path, where, partial(_summaries, number, entry))


def _lines(path: Path, text: str) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            where = f"line {number}"
            yield where, _checked(path, where, partial(parsed, line))


def _checked(path: Path, where: str, make: Callable[[], T]) -> T:
    try:
        return make()
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, csv.Error) as error:
        got = f"{type(error).__name__} {error}"
        raise UserError(
            "no summaries with human scores can be read", where=f"{path.name}, {where}", got=got, expected=FORMS
        ) from error


def _summaries(number: int, entry: Any) -> list[Summary]:
    return list(_form(entry)(number, entry))


def _form(entry: Any) -> Callable[[int, Any], Iterator[Summary]]:
    if "outputs" in entry:
        return _plain
    if "sys_summs" in entry:
        return _unified
    return _qags if "summary_sentences" in entry else _rank19


def _plain(number: int, entry: Any) -> Iterator[Summary]:
    references = tuple(_string(text) for text in entry.get("references") or ())
    for system, output in entry["outputs"].items():
        item = Item(_string(entry["source"]), _string(output["text"]), references)
        yield Summary(number, system, item, {name: _number(v) for name, v in output["human"].items()})


def _unified(number: int, entry: Any) -> Iterator[Summary]:
    """Read BARTScore's format. In factuality datasets the reference is the source. Scores that are not numbers are left out."""
    references = tuple(map(_string, entry.get("ref_summs") or [entry["ref_summ"]]))
    for system, output in entry["sys_summs"].items():
        scores = output["scores"]
        human = {name: _number(+v) for name, v in scores.items() if type(v) in (int, float, bool)}
        yield Summary(number, str(system), Item(_string(entry["src"]), _string(output["sys_summ"]), references), human)


def _qags(number: int, entry: Any) -> Iterator[Summary]:
    """Read QAGS. A sentence is correct if most annotators answered yes; the score of a summary is the share of correct sentences."""
    sentences = entry["summary_sentences"]
    yes = [mean(_vote(r["response"]) for r in s["responses"]) > 0.5 for s in sentences]
    article, summary = _string(entry["article"]), " ".join(_string(s["sentence"]) for s in sentences)
    yield Summary(number, "system", Item(article, summary, (article,)), {"fact": mean(map(float, yes))})


def _rank19(number: int, entry: Any) -> Iterator[Summary]:
    article = _string(entry["article_sent"])
    for system, score in ((CORRECT, 1.0), (INCORRECT, 0.0)):
        yield Summary(number, system, Item(article, _string(entry[f"{system}_sent"]), (article,)), {"fact": score})


def _newsroom(text: str) -> Iterator[Summary]:
    """Read Newsroom's table, which has one row per rater and no references; the human score is the mean over raters."""
    csv.field_size_limit(1 << 29)  # an article is one field
    ratings: dict[tuple[str, str], tuple[Item, dict[str, list[float]]]] = {}
    for row in csv.DictReader(io.StringIO(text, newline=""), strict=True):
        reference = row.get("ReferenceSummary")
        item = Item(_string(row["ArticleText"]), _string(row["SystemSummary"]), (reference,) if reference else ())
        _, of_raters = ratings.setdefault(
            (row["ArticleID"], row["System"]), (item, {name: [] for name in RATINGS.values()})
        )
        for column, name in RATINGS.items():
            of_raters[name].append(_number(row[column]))
    numbers = {article: n for n, article in enumerate(dict.fromkeys(article for article, _ in ratings))}
    for (article, system), (item, of_raters) in ratings.items():
        yield Summary(numbers[article], system, item, {name: mean(values) for name, values in of_raters.items()})


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a text is {type(value).__name__}")
    return value


def _number(value: Any) -> float:
    if (number := json_number(value)) is None:
        raise ValueError(f"{shown(repr(value))} is not {BOUNDS}")
    return number


def _vote(value: Any) -> float:
    return {"yes": 1.0, "no": 0.0}[_string(value).strip().lower()]
