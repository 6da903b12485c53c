"""Metrics of a project without its texts in memory: the same signature and values as with all texts at once."""

import random
from collections.abc import Iterator

import pytest

from core.data import Dataset, Item, Output, Segment, SegmentKey
from core.metrics import registry
from core.progress import no_progress
from core.scoring.dataset import for_dataset
from core.scoring.project_metric import AllTexts, Stream, examples_of, for_project

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
        found = for_project(metric, stream, [items[i] for i in examples])
        assert found.signature() == for_dataset(metric, data).signature(), metric.spec.name
        assert len(examples) <= 16
        assert found.fit is None
        assert found.signature_for is None


def test_a_fitted_metric_gives_the_same_values() -> None:
    data = dataset(3)
    metric = registry.load_metric("moverscore")
    items = [item for _, item in data.items() if item.references][:6]
    found, expected = (
        m.score(items, no_progress) for m in (for_project(metric, streamed(data), ()), for_dataset(metric, data))
    )
    assert found == expected


def test_texts_are_read_again_for_each_pass() -> None:
    data = dataset(1)
    texts = AllTexts(streamed(data))
    expected = [(key.segment, item) for key, item in data.items()]
    assert (list(texts), list(texts), len(texts)) == (expected, expected, len(expected))
    assert expected[0] in texts
    assert (SegmentKey("x", "y"), expected[0][1]) not in texts
