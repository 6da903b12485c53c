"""Mutated campaign files: reading them gives a campaign or a `UserError`, never another exception."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from core.campaigns import imported
from core.data import Dataset, Output, OutputKey, Segment, Span
from core.errors import UserError
from core.formats.campaigns import appraise, campaign_formats, pearmut, wmt25
from core.formats.campaigns.campaign_file import CampaignFile, CampaignRating
from core.formats.files import Upload
from tests.core.formats.test_mutations import mutated

SECONDS = 0.2
AT = datetime(2026, 1, 1, tzinfo=UTC)
KEY = OutputKey("A", "d", "1")
SPANS = (Span("output", 2, 3, "b", "Minor", "Style/Odd", "n"), Span("source", 0, 1, "s", "Major", "Accuracy/Omission"))
CAMPAIGN = CampaignFile(
    Dataset((Segment("d", "1", "s"),), (Output(*KEY, "😀\nb"),)),
    (
        CampaignRating("x", KEY, "item", SPANS, 50.0, AT, AT),
        CampaignRating("x", OutputKey("A", "d#bad1", "1"), "check", (), 5.0, AT, AT, "c", "s", KEY, "comment", True),
        CampaignRating("x", OutputKey("t", "welcome_0", "1"), "tutorial", None, None, AT, None, "t", "s"),
    ),
)
TABLE, BATCHES = campaign_formats.write_appraise(CAMPAIGN).texts
Reader = Callable[[bytes], CampaignFile]
READERS: dict[str, tuple[str, Reader]] = {
    "appraise": (TABLE, lambda data: appraise.read_appraise(Upload("a.csv", data), Upload("b.json", BATCHES.encode()))),
    "batches": (BATCHES, lambda data: appraise.read_appraise(Upload("a.csv", TABLE.encode()), Upload("b.json", data))),
    "wmt25": (wmt25.write_wmt25(CAMPAIGN).texts[0], lambda data: wmt25.read_wmt25(Upload("a.jsonl", data))),
    "tsv": (wmt25.write_wmt25_spans(CAMPAIGN).texts[0], lambda data: wmt25.read_wmt25_spans(Upload("a.tsv", data))),
    "pearmut": (
        campaign_formats.write_pearmut(CAMPAIGN).texts[0],
        lambda data: pearmut.read_pearmut(Upload("a.json", data)),
    ),
}
VALUES: list[Any] = [
    None, True, -1, 10**30, 1.5, "", "x", "9" * 5000, [], [1], [[]], {}, {"a": []}, "missing", ["a", "b"],
]  # fmt: skip


def other_value(value: Any, rng: random.Random) -> Any:
    """The JSON value with one part replaced by a value of another type."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        return value | {key: other_value(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.9:
        i = rng.randrange(len(value))
        return [*value[:i], other_value(value[i], rng), *value[i + 1 :]]
    return rng.choice(VALUES)


def changed(text: str, rng: random.Random) -> bytes:
    if text[0] in "[{" and rng.random() < 0.7:
        return json.dumps(other_value(json.loads(text), rng)).encode()
    return mutated(text.encode(), rng)


@pytest.mark.parametrize("name", READERS)
def test_a_mutated_campaign_is_read_or_refused(name: str) -> None:
    text, read = READERS[name]
    seed = random.randrange(1 << 30)
    rng, end = random.Random(seed), time.monotonic() + SECONDS
    while time.monotonic() < end:
        data = changed(text, rng)
        try:
            file = read(data)
            imported.attention(file)
            imported.ranking(file, draws=10)
            imported.campaign_agreement(file, draws=10)
            imported.times(file)
            for write in (
                campaign_formats.write_appraise,
                wmt25.write_wmt25,
                wmt25.write_wmt25_spans,
                campaign_formats.write_pearmut,
            ):
                write(file)
        except UserError:
            pass
        except Exception as error:
            raise AssertionError(f"seed {seed}: {data!r}") from error
