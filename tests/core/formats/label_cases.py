"""Labels to write and read again, for the tests of every format."""

from __future__ import annotations

from hypothesis import strategies as st

from core.data import Dataset, HumanScore, Output, OutputKey, RatedOutput, Segment, Side, Span, distinct_errors
from core.formats.files import Upload
from core.formats.labels.label_file import LabelFile, Severities, Written, totals_of
from core.formats.labels.label_formats import FORMATS
from core.mqm.scores import NON_TRANSLATION_ROW

SEVERITIES = Severities()
KEY = OutputKey("S", "d", "7")
_CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
TEXT = st.one_of(
    st.text(_CHARACTERS, max_size=10),
    st.lists(st.sampled_from(["<v>", "</v>", "a", " ", "\t", "\n", "\r", "😀", "é", "\u2028"]), max_size=8).map(
        "".join
    ),
)
NAME = st.text(_CHARACTERS, min_size=1, max_size=4).filter(lambda t: t.strip() == t)
PLAIN_NAME = st.text("abcXYZ0189_-é😀", min_size=1, max_size=4)
CATEGORY = st.sampled_from(
    ["Style", "Accuracy/Mistranslation", "Other", "Unspecified", "No-error", NON_TRANSLATION_ROW]
)


@st.composite
def labelled(draw: st.DrawFn, names: st.SearchStrategy[str] = NAME) -> tuple[Dataset, tuple[RatedOutput, ...]]:
    """Segments with outputs and references, every output rated by one person or two, or by nobody."""
    keys = draw(st.lists(st.tuples(st.just("") | names, names), min_size=1, max_size=3, unique=True))
    segments = tuple(
        Segment(d, s, draw(st.none() | TEXT.filter(bool)), tuple(draw(st.lists(TEXT.filter(bool), max_size=1))))
        for d, s in keys
    )
    systems = draw(st.lists(names, min_size=1, max_size=2, unique=True))
    outputs = tuple(Output(system, s.doc_id, s.segment_id, draw(TEXT)) for s in segments for system in systems)
    of = {s.key: s for s in segments}
    rated = []
    for n, o in enumerate(outputs):
        for rater in draw(st.lists(names, min_size=n == 0, max_size=2, unique=True)):
            errors = [draw(marks(o.text, of[o.key.segment].source)) for _ in range(draw(st.integers(0, 3)))]
            rated.append(RatedOutput(o.key, rater, distinct_errors(errors)))
    return Dataset(segments, outputs), tuple(rated)


@st.composite
def marks(draw: st.DrawFn, output: str, source: str | None) -> Span:
    side: Side = draw(st.sampled_from(["output", "source"])) if source else "output"
    text = output if side == "output" else source or ""
    a, b = sorted((draw(st.integers(0, len(text))), draw(st.integers(0, len(text)))))
    severity = draw(st.sampled_from(["Major", "Minor", "Neutral"]))
    return Span(side, a, b, text[a:b], severity, draw(CATEGORY), draw(st.just("") | TEXT))


def written(name: str, dataset: Dataset, rated: tuple[RatedOutput, ...]) -> Written:
    write = FORMATS[name].write
    assert write is not None
    return write(dataset, rated, totals_of(dataset))


def again(name: str, dataset: Dataset, rated: tuple[RatedOutput, ...]) -> tuple[Written, list[LabelFile]]:
    """Written in a format and read again, file by file."""
    files = written(name, dataset, rated)
    uploads = [Upload(f"again.{FORMATS[name].ending}", text.encode()) for text in files.texts]
    return files, [FORMATS[name].read(u, SEVERITIES, dataset) for u in uploads]


def dataset(source: str | None = "ein altes Haus", text: str = "an old house", scores: float | None = None) -> Dataset:
    human = () if scores is None else (HumanScore(*KEY, "ESA", scores),)
    return Dataset((Segment("d", "7", source),), (Output(*KEY, text),), human)


def rating(*errors: Span, rater: str = "r") -> RatedOutput:
    return RatedOutput(KEY, rater, errors)
