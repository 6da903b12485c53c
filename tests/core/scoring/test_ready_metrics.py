"""Metrics of a project without its texts in memory, and string metrics in several processes: the same signatures and values."""

import os
import random
from collections.abc import Iterator

import pytest

from core.data import Dataset, Item, Output, Segment, SegmentKey
from core.metrics import registry
from core.processes.pool import cores, processes
from core.progress import Cancelled, no_progress
from core.scoring import ready_metrics
from core.scoring.dataset import for_dataset
from core.scoring.ready_metrics import AllTexts, Stream, examples_of, for_project, pooled
from tests.builders import counting_metric, stop_when

TEXTS = (
    "a flood in the city",
    "die Flut in der Stadt",
    "城市 里 的 洪水",
    "都市の洪水です",
    "น้ำท่วมในเมือง",
    "",
    "!!",
    "خبر جديد",
)
METRICS = [
    "chrf", "bleu", "ter", "rouge1", "rougeL", "smart1", "smart1|against:reference", "moverscore", "bertscore|idf:yes", "bertscore",
    "menli", "menli|with:moverscore", "smartL|matcher:bleu",
]  # fmt: skip


def dataset(seed: int) -> Dataset:
    draw = random.Random(seed)
    some = draw.sample(TEXTS, draw.randint(1, 4))

    def one() -> str:
        return draw.choice(some)

    segments = tuple(
        Segment("d", f"{i:02}", draw.choice([None, one()]), tuple(one() for _ in range(draw.randrange(3))))
        for i in range(30)
    )
    return Dataset(
        segments, tuple(Output(s, "d", f"{i:02}", one()) for i in range(30) for s in "AB" if draw.random() < 0.8)
    )


def streamed(data: Dataset, size: int = 7) -> Stream:
    def stream() -> Iterator[list[tuple[int, SegmentKey, Item]]]:
        every = [(i, key.segment, item) for i, (key, item) in enumerate(data.items())]
        yield from (every[start : start + size] for start in range(0, len(every), size))

    return stream


@pytest.mark.parametrize("seed", range(40))
def test_a_few_examples_give_the_signature_of_all_texts(seed: int) -> None:
    data = dataset(seed)
    metrics = [registry.load_metric(name) for name in METRICS]
    stream, items = streamed(data), [item for _, item in data.items()]
    for metric, examples in zip(metrics, examples_of(metrics, stream), strict=True):
        ready = for_project(metric, stream, [items[i] for i in examples])
        assert ready.signature() == for_dataset(metric, data).signature(), metric.spec.name
        assert len(examples) <= 16
        assert ready.fit is None
        assert ready.signature_for is None


def test_a_fitted_metric_gives_the_same_values() -> None:
    data = dataset(3)
    metric = registry.load_metric("moverscore")
    items = [item for _, item in data.items() if item.references][:6]
    ready, expected = (
        m.score(items, no_progress) for m in (for_project(metric, streamed(data), ()), for_dataset(metric, data))
    )
    assert ready == expected


def test_texts_are_read_again_for_each_pass() -> None:
    data = dataset(1)
    texts = AllTexts(streamed(data))
    expected = [(key.segment, item) for key, item in data.items()]
    assert (list(texts), list(texts), len(texts)) == (expected, expected, len(expected))
    assert expected[0] in texts
    assert (SegmentKey("x", "y"), expected[0][1]) not in texts


ITEMS = [Item(None, f"the {i} cat sat on the mat", ("a cat sat on a mat", f"{i} mats")) for i in range(100)]


def test_pooled_values_and_signature_are_the_metrics_own() -> None:
    plain = registry.chosen(["chrf|beta:3", "rouge2"])
    with pooled(plain, 2) as away:
        for own, other in zip(plain, away, strict=True):
            assert other.score is not own.score
            assert other.signature() == own.signature()
            assert other.score(ITEMS, no_progress) == own.score(ITEMS, no_progress)
        with pytest.raises(Cancelled):
            away[0].score(ITEMS, stop_when(lambda share: True))


def test_values_are_the_same_while_the_processes_start() -> None:
    plain = registry.load_metric("chrf")
    expected, shares = plain.score(ITEMS, no_progress), list[float]()
    with pooled([plain], 2, after=1e-9) as (away,):
        assert away.score(ITEMS, shares.append) == expected
        assert away.score(ITEMS, shares.append) == expected
    assert (shares[0], max(shares)) == (0.0, 0.99)  # the last output is not done before there are values
    with pooled([plain], 2) as (away,):
        assert away.score([], no_progress) == []


def test_metrics_with_models_or_from_elsewhere_stay_here() -> None:
    mixed = [registry.load_metric("chrf"), registry.load_metric("bartscore"), counting_metric()]
    with pooled(mixed, 2) as ready:
        assert [a is b for a, b in zip(mixed, ready, strict=True)] == [False, True, True]
    with pooled(mixed, 1) as ready:
        assert ready == mixed


def test_outputs_of_a_segment_stay_in_one_part() -> None:
    items = [Item(None, f"{segment} {k}", (f"r{segment}",)) for segment in range(6) for k in range(20)]
    items += [Item(None, str(k), ("other",)) for k in range(300)]
    assert list(map(len, ready_metrics._parts(items))) == [40, 40, 40, 128, 128, 44]
    assert [item for part in ready_metrics._parts(items) for item in part] == items
    assert ready_metrics._parts([]) == []


def test_the_number_of_processes_is_asked_for_or_that_of_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ERRORSCOPE_WORKERS", raising=False)
    assert (processes(), processes(7)) == (cores(), 7)
    monkeypatch.setenv("ERRORSCOPE_WORKERS", "3")
    assert (processes(), processes(7)) == (3, 7)


def test_no_more_processes_than_this_one_may_use() -> None:
    assert 1 <= cores() <= (os.cpu_count() or 1)
