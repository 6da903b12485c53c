"""Texts of a project, read in parts whose size does not depend on the number of systems."""

from collections.abc import Collection, Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.data import Dataset, Output, OutputKey, Segment, SegmentKey
from core.services.projects import texts as stored_texts
from core.services.projects.texts import StoredTexts
from tests.views import DatasetTexts

SYSTEMS = [f"system {n}" for n in range(20)]
DATA = Dataset(
    tuple(Segment("d", str(i), f"source {i}", (f"reference {i}",)) for i in range(15)),
    tuple(Output(s, "d", str(i), f"{s}, {i}") for i in range(15) for s in SYSTEMS[: i + 6]),
)
KEYS = [OutputKey(s, "d", str(i)) for i in range(16) for s in SYSTEMS]


class Reader(DatasetTexts):
    """Reads texts of `DATA`, and notes how many outputs each query has read."""

    def __init__(self) -> None:
        super().__init__(DATA)
        self.sizes: list[int] = []

    def texts(self, project_id: int, segments: Sequence[SegmentKey], systems: Collection[str] | None = None) -> Dataset:
        found = super().texts(project_id, segments, systems)
        self.sizes.append(len(found.outputs))
        return found


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Reader:
    monkeypatch.setattr(stored_texts, "OUTPUTS_AT_ONCE", 50)
    return Reader()


def keys_of(segments: Iterable[int]) -> list[SegmentKey]:
    return [SegmentKey("d", str(i)) for i in segments]


def test_whole_segments_are_read_some_at_a_time(reader: Reader) -> None:
    read = list(StoredTexts(reader, 0, len(SYSTEMS)).each(keys_of(range(15))))
    assert [segment.key for segment, _ in read] == [s.key for s in DATA.segments]
    assert [len(of) for _, of in read] == [min(20, i + 6) for i in range(15)]
    assert max(reader.sizes) <= 50
    assert len(reader.sizes) == 8
    reader.sizes.clear()
    read = list(StoredTexts(reader, 0, 1_000).each(keys_of([13, 14])))  # always a whole segment
    assert [len(of) for _, of in read] == reader.sizes == [19, 20]
    reader.sizes.clear()
    without = list(StoredTexts(reader, 0, len(SYSTEMS)).each_without_outputs(keys_of([3, 1, 99])))
    assert (without, reader.sizes) == ([DATA.segments[1], DATA.segments[3]], [0])


@given(st.lists(st.sampled_from(KEYS), unique=True), st.integers(1, 60))
def test_items_are_those_of_the_keys_in_their_order(keys: list[OutputKey], most: int) -> None:
    known, reader = dict(DATA.items()), Reader()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stored_texts, "OUTPUTS_AT_ONCE", most)
        texts = StoredTexts(reader, 0, len(SYSTEMS))
        parts = list(texts.item_parts(keys))
        assert max(reader.sizes, default=0) <= most
        assert list(texts.items(keys).items()) == [(key, known[key]) for key in keys if key in known]
    assert [key for part in parts for key in part] == [key for key in keys if key in known]


def test_only_the_systems_that_are_wanted_are_read(reader: Reader) -> None:
    texts = StoredTexts(reader, 0, len(SYSTEMS))
    keys = [OutputKey("system 3", "d", str(i)) for i in (9, 2, 14)]
    assert texts.outputs(keys) == {key: f"system 3, {key.segment_id}" for key in keys}
    assert reader.sizes == [3]


def test_held_segments_are_limited_by_their_characters(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_texts, "HELD_CHARACTERS", 3_000)
    texts = StoredTexts(reader, 0, len(SYSTEMS))

    def read(*rows: int) -> list[int]:
        reader.sizes.clear()
        for key in keys_of(rows):
            assert texts.segment(key)[0].key == key
        return list(reader.sizes)

    assert read(0, 1, 0, 1) == [6, 7]
    assert read(14, 1) == [20, 7]  # about 2,240 characters, with which only one of the others is held
    assert read(13, 13) == [19]
    monkeypatch.setattr(stored_texts, "HELD_CHARACTERS", 1)
    assert read(14, 14, 14) == [20]  # the newest one is held whatever its size
