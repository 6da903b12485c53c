"""The cosine of whole texts; golden cosines are those of sentence-transformers (tests/core/models/test_encoder.py)."""

import pytest

from core.data import Item
from core.metrics import registry
from core.models.architectures.encoder import load_encoder
from core.progress import no_progress
from tests.core.tiny_encoder import use_encoder_of

CAT, CHINESE, CAFE = "The cat sat on the mat.", "她昨天去了北京。", "naïve café 😀"


@pytest.fixture(autouse=True)
def _encoder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    use_encoder_of(request, monkeypatch)


# SentenceTransformer(folder).encode(…), sentence-transformers 6.2.0: CAT·CHINESE −0.046248, CAT·CAFE 0.032034.
GOLDEN = {"reference": 0.032034, "source": -0.046248, "both": (0.032034 - 0.046248) / 2}


@pytest.mark.models
def test_cosines_are_those_of_sentence_transformers() -> None:
    for against, expected in GOLDEN.items():
        metric = registry.load_metric(f"embedding|against:{against}")
        value = metric.score([Item(CHINESE, CAT, ("", CHINESE, CAFE))], no_progress)[0]
        assert value.value == pytest.approx(expected, abs=2e-5)


def test_cosine_with_best_reference_source_or_both() -> None:
    output, source, *references = load_encoder().sentences([CAT, CHINESE, CAFE, "a dog"])
    from_source, best = float(output @ source), max(float(output @ reference) for reference in references)
    for against, expected in {"reference": best, "source": from_source, "both": (best + from_source) / 2}.items():
        metric = registry.load_metric(f"embedding|against:{against}")
        value = metric.score([Item(CHINESE, CAT, ("", CAFE, "a dog"))], no_progress)[0]
        assert value.value == pytest.approx(expected, abs=2e-5)


def test_empty_texts_have_a_reason_and_long_ones_a_caution() -> None:
    items = [Item("s", "", (CAT,)), Item("s", CAT, (" ",)), Item(" ", CAT, (CAT,)), Item("s", CAT * 99, (CAT,))]
    values = registry.load_metric("embedding|against:both").score(items, no_progress)
    assert [v.status for v in values] == ["undefined", "undefined", "undefined", "ok"]
    assert "was cut" in values[3].reason
