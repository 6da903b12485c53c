"""Which files are recognised as those of campaigns: what our writers write, and no label file or table."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime

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


def test_every_format_is_recognised_and_packed_too() -> None:
    for name, campaign_format in FORMATS.items():
        text = campaign_format.write(FILE).texts[0].encode()
        assert recognised(Upload("export", text)) == name
        assert recognised(Upload("export.gz", gzip.compress(text))) == name
    assert recognised(Upload("batches.json", FORMATS["appraise"].write(FILE).texts[1].encode())) == BATCHES


def test_label_files_and_other_files_are_not_those_of_campaigns() -> None:
    rated = [RatedOutput(KEY, "ann", FILE.ratings[0].errors or ())]
    for label_format in LABEL_FORMATS.values():
        if label_format.write:
            text = label_format.write(FILE.dataset, rated, totals_of(FILE.dataset)).texts[0]
            assert recognised(Upload(f"labels.{label_format.ending}", text.encode())) is None
    rows = ("a,b,c\n1,2,3\n", ",".join("abcdefghijkl") + "\n", '"open\n', "system\tx\n")
    for text in ("", "[", "{}", '{"doc_id": "d"}', *rows):
        assert recognised(Upload("x", text.encode())) is None
