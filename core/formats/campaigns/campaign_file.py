"""The contents of a campaign file: the texts of the project, every rating with its annotator and times, and what was odd.

Readers collect every problem of a file (`ImportProblems`); what can be read all the same is a warning. Writers name what their format
cannot store.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from core.data import Dataset, OutputKey, Span, distinct_errors, grouped
from core.errors import Problem, UserError
from core.formats.campaigns.span_json import SpanStyle, SpanText, category_of, read_span
from core.formats.labels.annotator_answers import INSTRUCTIONS, FileAnswer, FileProtocol, Kind
from core.formats.labels.label_file import repeated_errors, sentences_left_out
from core.formats.labels.record_texts import TextReading
from core.formats.parsing.numbers import json_number
from core.formats.problems import shown, shown_segment
from core.formatting import format_count

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = 253402300799.0  # the last second of the year 9999, the last that `datetime` stores


Identity = tuple[str, Kind, OutputKey]
"""What a rating is of: rater, kind and key."""


@dataclass(frozen=True, slots=True)
class CampaignRating:
    """What one annotator said of one text: error spans, a score, or both.

    `errors` is None if the annotator was not asked for error spans or did not answer, `score` if there is none. `unread` counts error
    spans without a place in the text, without which `errors` are not complete. `sliders` are further numbers by name. The text of an item is in the
    dataset; checks and tutorials have their own `text` and `source`. `of` is the output a check was made from; a check with the text of
    that output is a repetition. `passed` is the file's own verdict on a check. `began` and `ended` are in UTC.
    """

    rater: str
    key: OutputKey
    kind: Kind
    errors: tuple[Span, ...] | None
    score: float | None
    began: datetime | None = None
    ended: datetime | None = None
    text: str | None = None
    source: str | None = None
    of: OutputKey | None = None
    comment: str = ""
    passed: bool | None = None
    sliders: tuple[tuple[str, float], ...] = ()
    unread: int = 0

    @property
    def identity(self) -> Identity:
        return self.rater, self.kind, self.key

    @property
    def all_errors(self) -> tuple[Span, ...] | None:
        """Return the error spans; None if some of them are not known."""
        return None if self.unread else self.errors


class OddSpan(NamedTuple):
    """An error span with a fault (`why`). `start` and `end` are as written.

    `raw` is its JSON if it has no place in the text and is therefore in no rating; None if the rating has it as it is. Numbers that
    JSON has no form for (NaN, infinity) are texts in it.
    """

    rater: str
    key: OutputKey
    kind: Kind
    start: str
    end: str
    why: str
    raw: str | None


@dataclass(frozen=True, slots=True)
class CampaignFile:
    """The texts and ratings of a campaign, running or finished. `dataset` has the texts of the project, without checks and tutorials.

    There is one rating per rater, kind and key; `replaced` counts earlier ones that the annotator changed or a reset discarded.
    """

    dataset: Dataset
    ratings: tuple[CampaignRating, ...]
    odd: tuple[OddSpan, ...] = ()
    warnings: tuple[Problem, ...] = ()
    replaced: int = 0

    def of_kind(self, kind: Kind) -> list[CampaignRating]:
        return [r for r in self.ratings if r.kind == kind]

    def texts(self) -> dict[OutputKey, tuple[str, str | None]]:
        """Return text and source of each output."""
        sources = {s.key: s.source for s in self.dataset.segments}
        return {o.key: (o.text, sources[o.key.segment]) for o in self.dataset.outputs}


class CampaignReading(TextReading):
    """Combine the records of a file into a `CampaignFile`. Different texts of one output are a problem."""

    def __init__(self, file: str, style: SpanStyle) -> None:
        super().__init__(file)
        self.style, self.replaced = style, 0
        self._rated: dict[Identity, tuple[CampaignRating, tuple[OddSpan, ...], bool]] = {}
        self._texts: dict[tuple[str | None, str | None], SpanText] = {}

    def errors(
        self, line: int, rating: CampaignRating, spans: Iterable[Any]
    ) -> tuple[tuple[Span, ...], tuple[OddSpan, ...]]:
        """Return the error spans of a rating from their JSON objects, checked against its text, and the odd ones among them."""
        texts = self._span_text(rating)
        errors, odd = [], []
        for value in spans:
            self.meter.row(0)
            span, why = read_span(value, texts)
            if span is not None:
                errors.append(span)
                if span.category == INSTRUCTIONS and not category_of(value):
                    self.second_token(line)
            if why:
                odd.append(odd_span(rating, value, why, left_out=span is None))
        return tuple(errors), tuple(odd)

    def _span_text(self, rating: CampaignRating) -> SpanText:
        text, source = rating.text, rating.source
        if rating.kind == "item":
            text, source = self.output(rating.key), self.source(rating.key.segment)
        if (text, source) not in self._texts:
            self._texts[text, source] = SpanText.of(text, source, self.style)
        return self._texts[text, source]

    def rate(self, line: int, rating: CampaignRating, spans: Iterable[Any] | None, *, said: bool = False) -> None:
        """Add a rating with the JSON objects of its spans, None without a list. It replaces an earlier one of the same text.

        `said` is whether the file says by other means that the annotator was asked for errors and answered.
        """
        errors, odd = (None, ()) if spans is None else self.errors(line, rating, spans)
        self.add(line, replace(rating, errors=errors), odd, said=said)

    def add(self, line: int, rating: CampaignRating, odd: Iterable[OddSpan] = (), *, said: bool = False) -> None:
        """Add a rating with its error spans. It replaces an earlier one of the same text and moves to the end."""
        self.meter.row(line)
        if not rating.rater.strip():
            self.problem(line, "rater", "no rater", "the name of the annotator", "Name the annotator in every row")
            return
        of = tuple(odd)
        self.discard([rating.identity])
        self._rated[rating.identity] = replace(rating, unread=sum(o.raw is not None for o in of)), of, said

    def discard(self, identities: Iterable[Identity]) -> None:
        """Remove ratings, since they were changed or reset."""
        for identity in identities:
            self.replaced += self._rated.pop(identity, None) is not None

    def done(self) -> CampaignFile:
        ratings, odd = self._answered()
        if not (ratings or self.problems):
            unread = self.unread_answers() or ", ".join(w.got for w in self.warnings)
            got = "no ratings" + (f" that can be read ({unread})" if unread else "")
            self.problem(0, "", got, "at least one rating", "Check that annotation has begun, and export again")
        self.problems.check()
        if self.replaced:
            got = format_count(self.replaced, "rating that was changed or reset", "ratings that were changed or reset")
            self.warn(0, "", got, "one per annotator and text", "The last one counts")
        warnings = (*self.warnings, *self.unread_warnings(), *self.token_warnings(), *odd_warnings(self.file, odd))
        return CampaignFile(self.dataset(), tuple(ratings), tuple(odd), warnings, self.replaced)

    def _answered(self) -> tuple[list[CampaignRating], list[OddSpan]]:
        """Return the ratings without those that say nothing, error spans only where they were asked for, and the odd spans."""
        answers = {identity: (r, _answer(r, said)) for identity, (r, _, said) in self._rated.items()}
        protocol = FileProtocol.of(a for r, a in answers.values() if r.kind == "item")
        ratings, unasked, empty, repeated = list[CampaignRating](), 0, 0, 0
        for r, answer in answers.values():
            if r.kind == "item" and r.errors is not None and not protocol.rates_errors(answer):
                unasked += answer.scored
                r = replace(r, errors=None)
            if r.kind == "item" and r.errors is None and r.score is None and not r.sliders:
                empty += 1
                continue
            distinct = None if r.errors is None else distinct_errors(r.errors)
            repeated += len(r.errors or ()) - len(distinct or ())
            ratings.append(replace(r, errors=distinct))
        if unasked:
            got = (
                format_count(unasked, "empty list of error spans", "empty lists of error spans")
                + ", and no error span in the file"
            )
            self.warn(0, "error spans", got, "annotators who were asked for errors", "Scores only, no MQM scores")
        if empty:
            self.warn(0, "", format_count(empty, "item without an answer", "items without an answer"),
                      "a score or error spans", "Not rated")  # fmt: skip
        self.warnings += repeated_errors(self.file, repeated)
        return ratings, [o for _, odd, _ in self._rated.values() for o in odd]


def _answer(r: CampaignRating, said: bool) -> FileAnswer:
    spans = None if r.errors is None else len(r.errors) + r.unread
    return FileAnswer(spans, r.score is not None or bool(r.sliders), said)


def odd_span(rating: CampaignRating, value: Any, why: str, *, left_out: bool) -> OddSpan:
    value = json.loads(json.dumps(value), parse_constant=str)
    raw = json.dumps(value, ensure_ascii=False, sort_keys=True) if left_out else None
    start, end = (value.get("start_i"), value.get("end_i")) if isinstance(value, dict) else (value, None)
    return OddSpan(rating.rater, rating.key, rating.kind, str(start), str(end), why, raw)


def odd_warnings(file: str, odd: Iterable[OddSpan]) -> Iterable[Problem]:
    """Yield one warning per fault, with the first of its spans by name; `CampaignFile.odd` names all."""
    for (why, left_out), of in grouped(((o.why, o.raw is not None), o) for o in odd).items():
        first = of[0]
        place = f"{first.start} to {first.end} of {shown(first.key.system)}, {shown_segment(first.key.segment)}"
        done = (
            "Kept apart, and the errors of these outputs are not rated"
            if left_out
            else "Kept as they are. A rating with a severity that has no weight has no penalty"
        )
        got = f"{format_count(len(of), 'error span')} with a fault ({why}); first: {place}, by {shown(first.rater)}"
        yield Problem(file, 0, "error spans", got, "a span inside its text, Major, Minor or Neutral", done)


def moment(seconds: Any) -> datetime | None:
    """Return the time of seconds since 1970, to the microsecond; None if it is not a number."""
    value = json_number(seconds)
    if value is None or not 0 <= value <= _LATEST:
        return None
    return _EPOCH + timedelta(microseconds=round(value * 1_000_000))


def seconds_text(at: datetime | None) -> str:
    """Return a time as seconds since 1970, exactly and without trailing zeros; "" for None."""
    if at is None:
        return ""
    whole, micro = divmod((at - _EPOCH) // timedelta(microseconds=1), 1_000_000)
    return f"{whole}.{micro:06d}".rstrip("0").rstrip(".")


def checked_campaign(file: CampaignFile) -> None:
    """Raise `UserError` for a rating of an unknown output, and an error span that does not match its text."""
    known = file.texts()
    for r in file.ratings:
        if r.kind == "item" and r.key not in known:
            raise UserError("a rating of an unknown output", got=f"{r.key.system}, segment {r.key.segment_id}")
        text, source = texts_of(r, known)
        for e in r.errors or ():
            e.check((text if e.side == "output" else source) or "")


def texts_of(rating: CampaignRating, known: dict[OutputKey, tuple[str, str | None]]) -> tuple[str | None, str | None]:
    """Return output and source of a rating; `known` are those of the project."""
    return known[rating.key] if rating.kind == "item" else (rating.text, rating.source)


def raw_spans(file: CampaignFile, offset: str = "start_i") -> dict[Identity, list[dict[str, Any]]]:
    """Return the odd spans that are in no rating, as they were written, by rater, kind and key.

    Only objects with the key `offset` are returned: those of formats that write spans in the same way.
    """
    written = ((o.rater, o.kind, o.key, json.loads(o.raw)) for o in file.odd if o.raw is not None)
    return grouped(((rater, kind, key), raw) for rater, kind, key, raw in written if _is_raw(raw, offset))


def _is_raw(raw: Any, offset: str) -> bool:
    return isinstance(raw, dict) and offset in raw


def lost_parts(
    file: CampaignFile, *, checks: bool = False, times: bool = False, comments: bool = False, raw: str = "",
    passed: bool = False, references: int = 0, unrated: bool = False, sliders: bool = False,
) -> list[str]:  # fmt: skip
    """Return what a format leaves out that stores only the parts that are True, and this many references per segment.

    `raw` is the key of the offsets in the odd spans that it writes as they were.
    """
    rated = {r.key for r in file.ratings if r.kind == "item"}
    ratings = [r for r in file.ratings if checks or r.kind == "item"]
    kept = {r.identity for r in ratings}
    odd = [o for o in file.odd if o.raw is not None and (o.rater, o.kind, o.key) in kept]
    return sentences_left_out(
        (len(file.ratings) - len(ratings), "rating of checks and tutorials", "ratings of checks and tutorials"),
        (0 if times else sum(r.began is not None or r.ended is not None for r in ratings), "time", "times"),
        (0 if comments else sum(bool(r.comment) for r in ratings), "comment", "comments"),
        (0 if passed else sum(r.passed is not None for r in ratings), "verdict on a check", "verdicts on checks"),
        (0 if sliders else sum(len(r.sliders) for r in ratings), "slider value", "slider values"),
        (sum(not (raw and _is_raw(json.loads(o.raw or ""), raw)) for o in odd), "error span without a place in its text",
         "error spans without a place in their texts"),
        (0 if unrated else sum(o.key not in rated for o in file.dataset.outputs), "unrated output", "unrated outputs"),
        (sum(max(0, len(s.references) - references) for s in file.dataset.segments), "reference", "references"),
        (len(file.dataset.human_scores), "human score", "human scores"),
    )  # fmt: skip
