"""Campaigns to write and read again: emoji, right-to-left and combining characters, line breaks, empty spans, omissions."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import strategies as st

from core.data import Dataset, Output, OutputKey, Segment, Span, distinct_errors
from core.formats.campaigns.campaign_file import CampaignFile, CampaignRating
from tests.core.formats.label_cases import NAME, TEXT, marks

PIECES = st.lists(
    st.sampled_from(
        ["a", " ", "\n", "😀", "👩\u200d👩", "שלום", "مرحبا", "e\u0301", "\u202b", "<br>", "</br>", "\\n", "\t", '"']
    ),
    max_size=6,
).map("".join)
SPOKEN = PIECES | TEXT
TIME = st.none() | st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))
SCORE = st.none() | st.integers(1, 100).map(float) | st.floats(0.5, 100)
OMISSIONS = st.sampled_from(["Accuracy/Omission", "Instructions fault"]).map(
    lambda category: Span("output", 0, 0, "", "Major", category)
)


@st.composite
def campaigns(draw: st.DrawFn, *, checks: bool = True, references: bool = False, extras: bool = False) -> CampaignFile:
    """Items rated by one annotator or two, or by nobody; with `checks`, attention checks and tutorials too."""
    keys = draw(st.lists(st.tuples(st.just("") | NAME, NAME), min_size=1, max_size=3, unique=True))
    refs = st.lists(TEXT.filter(bool), max_size=1) if references else st.just([])
    segments = tuple(Segment(*key, draw(st.none() | SPOKEN.filter(bool)), tuple(draw(refs))) for key in keys)
    systems = draw(st.lists(NAME, min_size=1, max_size=2, unique=True))
    outputs = tuple(Output(system, *s.key, draw(SPOKEN)) for s in segments for system in systems)
    sources = {s.key: s.source for s in segments}
    ratings = []
    raters = draw(st.lists(NAME, min_size=1, max_size=2, unique=True))
    for n, o in enumerate(outputs):
        for rater in draw(st.lists(st.sampled_from(raters), min_size=n == 0, unique=True)):
            ratings.append(_rating(draw, rater, o.key, "item", o.text, sources[o.key.segment], extras))
    made = (
        draw(st.lists(st.tuples(st.sampled_from(raters), st.sampled_from(outputs)), max_size=2, unique=True))
        if checks
        else []
    )
    for n, (rater, o) in enumerate(made):
        key = OutputKey(o.system, f"{o.doc_id}#bad{n}", o.segment_id)
        text, source = draw(SPOKEN), draw(st.none() | SPOKEN.filter(bool))
        check = _rating(draw, rater, key, "check", text, source, extras)
        ratings.append(replace(check, text=text, source=source, of=o.key))
        tutorial = _rating(draw, rater, OutputKey("t", "tutorial", str(n)), "tutorial", text, source, False)
        ratings.append(replace(tutorial, text=text, source=source))
    return CampaignFile(Dataset(segments, outputs), tuple(ratings))


def _rating(
    draw: st.DrawFn, rater: str, key: OutputKey, kind: str, text: str, source: str | None, extras: bool
) -> CampaignRating:  # fmt: skip
    errors = draw(st.none() | st.lists(marks(text, source) | OMISSIONS, max_size=3).map(tuple))
    if errors and draw(st.booleans()):
        errors = (replace(errors[0], severity=draw(st.sampled_from(["undecided", "critical"]))), *errors[1:])
    comment = draw(st.just("") | TEXT) if extras else ""
    passed = draw(st.none() | st.booleans()) if extras and kind == "check" else None
    score = draw(SCORE)
    score = 50.0 if errors is None and score is None else score
    distinct = None if errors is None else distinct_errors(errors)
    return CampaignRating(rater, key, kind, distinct, score, draw(TIME), draw(TIME), comment=comment, passed=passed)  # type: ignore[arg-type]


def contents(file: CampaignFile) -> tuple[object, ...]:
    return file.dataset, file.ratings, file.odd
