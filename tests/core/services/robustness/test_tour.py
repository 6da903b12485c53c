"""The prepared failures are failures of the bundled models, computed; and the strips under them are what the metrics sum up."""

import pytest

from core.data import Item
from core.errors import UserError
from core.metrics import registry
from core.progress import no_progress
from core.robustness.stress.token_contributions import able, strips
from core.services.robustness.tour import STOPS, TourExample, shown

ITEM = Item("Die Katze schläft 😀 im Haus.", "The cat sleeps 😀 in the house.", ("A cat is sleeping 😀 in the house.",))


def test_there_are_five_of_different_kinds() -> None:
    assert len(STOPS) == len({s.title for s in STOPS}) == 5
    assert len({s.noise for s in STOPS}) == 5
    assert len({registry.split(s.metric)[0] for s in STOPS}) >= 3


@pytest.mark.models
@pytest.mark.parametrize("stop", STOPS, ids=lambda s: s.title)
def test_each_is_still_a_failure(stop: TourExample) -> None:
    found = shown(stop)
    assert found.texts.good != found.texts.changed
    assert found.score.misses_error


@pytest.mark.models
def test_a_text_that_cannot_be_spoilt_is_said_to_be_so() -> None:
    with pytest.raises(UserError, match="does not apply"):
        shown(STOPS[0]._replace(noise="sentence-switching", strength=1.0))


@pytest.mark.models
@pytest.mark.parametrize("name", ["bartscore", "bartscore-p", "bartscore-r", "bartscore-faithfulness"])
def test_the_mean_over_a_strip_is_what_the_metric_gives(name: str) -> None:
    (value,) = registry.load_metric(name).score([ITEM], no_progress)
    found = strips(name, ITEM)
    assert sum(s.mean for s in found) / len(found) == pytest.approx(value.value, abs=1e-4)
    for strip in found:
        assert strip.subs[-1].text == ""  # the end of the text is scored like a sub-word
        assert all(sub.value <= 0 for sub in strip.subs)


@pytest.mark.models
def test_the_mean_similarity_of_a_strip_is_precision_and_recall() -> None:
    (value,) = registry.load_metric("bertscore").score([ITEM], no_progress)
    precision, recall = strips("bertscore", ITEM)
    assert precision.mean == pytest.approx(value.parts["precision"], abs=1e-5)
    assert recall.mean == pytest.approx(value.parts["recall"], abs=1e-5)
    assert "😀" in "".join(s.text for s in precision.subs) or "" in [s.text for s in precision.subs]


def test_only_sums_over_sub_words_have_a_strip() -> None:
    assert able("bartscore++-p|k:5")
    assert able("bertscore|measure:p")
    assert not able("bleu")
    assert not able("nli")


def test_without_the_text_it_is_read_against_there_is_no_strip() -> None:
    bare = ITEM._replace(source=None, references=())
    assert strips("bertscore", bare) == strips("bartscore", bare) == strips("bartscore-faithfulness", bare) == []
