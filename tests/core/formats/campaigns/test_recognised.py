"""Which files are recognised as those of campaigns: what our writers write, and no label file or table."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime

import pytest

from core.data import Dataset, Output, OutputKey, RatedOutput, Segment, Span
from core.formats.campaigns.campaign_file import CampaignFile, CampaignRating
from core.formats.campaigns.campaign_formats import BATCHES, recognised
from core.formats.files import Upload
from core.formats.labels.label_file import totals_of
from core.formats.labels.label_formats import FORMATS as LABEL_FORMATS
from core.services.campaigns.files import FORMATS

KEY = OutputKey("A", "d", "1")
AT = datetime(2026, 1, 1, tzinfo=UTC)
FILE = CampaignFile(
    Dataset((Segment("d", "1", "Haus"),), (Output(*KEY, "a red house"),)),
    (CampaignRating("ann", KEY, "item", (Span("output", 2, 5, "red", "Minor", "Style"),), 70.0, AT, AT),),
)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_recognised_and_packed_too(name: str) -> None:
    text = FORMATS[name].write(FILE).texts[0].encode()
    assert recognised(Upload("export", text)) == name
    assert recognised(Upload("export.gz", gzip.compress(text))) == name


def test_the_batches_of_appraise_are_recognised() -> None:
    assert recognised(Upload("batches.json", FORMATS["appraise"].write(FILE).texts[1].encode())) == BATCHES


@pytest.mark.parametrize("name", [name for name, f in LABEL_FORMATS.items() if f.write])
def test_label_files_are_not_those_of_campaigns(name: str) -> None:
    write = LABEL_FORMATS[name].write
    assert write is not None
    (written, *_) = write(
        FILE.dataset, [RatedOutput(KEY, "ann", FILE.ratings[0].errors or ())], totals_of(FILE.dataset)
    ).texts
    assert recognised(Upload(f"labels.{LABEL_FORMATS[name].ending}", written.encode())) is None


@pytest.mark.parametrize(
    "text",
    ["", "[", "{}", '{"doc_id": "d"}', "a,b,c\n1,2,3\n", ",".join("abcdefghijkl") + "\n", '"open\n', "system\tx\n"],
)
def test_other_files_are_not_recognised(text: str) -> None:
    assert recognised(Upload("x", text.encode())) is None
