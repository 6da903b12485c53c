from typing import Any

import pytest

from core.data import SEVERITIES
from core.errors import UserError
from core.mqm.typology import MQM, TYPOLOGIES, Typology, from_json, is_non_translation, to_json


def test_mqm_has_its_categories() -> None:
    paths = [c.path for c in MQM.categories]
    assert len(paths) == len(set(paths)) == 23
    assert {"Accuracy/Omission", "Fluency/Punctuation", "Other", "Source issue"} <= set(paths)
    assert not {"Accuracy", "Non-translation"} & set(paths)


@pytest.mark.parametrize("typology", TYPOLOGIES.values(), ids=TYPOLOGIES)
def test_every_severity_and_category_is_defined_with_an_example(typology: Typology) -> None:
    assert [s.name for s in typology.severities] == list(SEVERITIES)
    for explained in (*typology.severities, *typology.categories, typology.whole):
        assert 10 < len(explained.definition) <= 140
        assert explained.example
    assert [c.path for c in typology.categories if c.needs_note] == ["Other"]
    assert [c.path for c in typology.categories if c.where == "source"] == [typology.omission]
    assert typology.omission


def test_a_typology_comes_back_from_plain_values() -> None:
    assert all(from_json(to_json(t)) == t for t in TYPOLOGIES.values())


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"path": ""}, "no usable name"),
        ({"path": "a/b/c"}, "no usable name"),
        ({"path": None}, "no usable name"),
        ({"path": "accuracy/ Omission"}, "twice"),
        ({"path": "Non-translation!"}, "verdict"),
        ({"path": "New", "where": "reference"}, "output, source or either"),
        ({"path": "New", "definition": "x" * 501}, "cannot be stored"),
        ({"path": "New\0"}, "cannot be stored"),
    ],
)
def test_a_category_that_cannot_be_used_is_refused(row: dict[str, Any], message: str) -> None:
    stored = to_json(MQM)
    with pytest.raises(UserError, match=message):
        from_json(stored | {"categories": [*stored["categories"], row]})


def test_a_typology_needs_categories_and_the_three_severities() -> None:
    stored = to_json(MQM)
    for wrong in ({"categories": []}, {"severities": stored["severities"][:2]}):
        with pytest.raises(UserError):
            from_json(stored | wrong)


def test_non_translation_is_known_in_any_spelling() -> None:
    assert all(is_non_translation(c) for c in ("Non-translation!", "non-translation", " Non-Translation ! "))
    assert not is_non_translation("Accuracy/Mistranslation")
