"""Files of other tools in which what a reader does not know was read as "no error", with the right values."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from core.data import RatedOutput
from core.formats.campaigns import appraise, pearmut
from core.formats.files import Upload
from core.formats.labels import google_mqm, label_studio
from core.formats.labels.label_file import Severities
from core.mqm.schemes import GOOGLE
from core.mqm.scores import segment_scores
from core.services.campaigns.files import labels_of
from tests.paths import CASES

pytestmark = pytest.mark.skipif(not CASES.exists(), reason="needs ../shared/cases")


def upload(path: str) -> Upload:
    return Upload(Path(path).name, (CASES / path).read_bytes())


def scores(rated: Iterable[RatedOutput]) -> list[float]:
    return [s.score for s in segment_scores(rated, GOOGLE)]


def test_label_and_campaign_files_have_the_right_scores() -> None:
    for path, expected in (
        ("labelstudio-hypertext/hypertext.json", [-5.0]),
        ("labelstudio-duplicate/dup.json", [-3.0]),
    ):
        assert scores(label_studio.read_label_studio(upload(path), Severities()).rated) == expected
    checks = google_mqm.read_google_mqm((CASES / "marot-hotw-test/hotw.tsv").read_bytes())
    assert [(s.system, s.score) for s in segment_scores(checks.rated, GOOGLE)] == [("A", -5.0), ("B", 0.0)]
    assert scores(labels_of(pearmut.read_pearmut(upload("pearmut-skip/skip.json"))).rated) == [-5.0, -5.0]
    sliders = labels_of(pearmut.read_pearmut(upload("pearmut-sliders/sliders.json")))
    values = [j.value for j in sliders.judgements if (j.key.system, j.name) == ("A", "Fluency")]
    assert (len(sliders.rated), len(sliders.judgements), sum(values) / len(values)) == (0, 24, 81)


def test_appraise_has_the_right_error_spans() -> None:
    for path in ("appraise-leading-blank/scores.csv", "appraise-export-options/batchinfo.csv"):
        file = appraise.read_appraise(upload(path), upload(path.partition("/")[0] + "/batches.json"))
        assert [e.quote for r in file.ratings for e in r.errors or ()] == ["Hund", "Hund", "雨", "Abend"]
