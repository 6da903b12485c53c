import json

import pytest

from core.errors import UserError
from core.mqm import schemes
from core.mqm.schemes import GOOGLE, MAROT, SCHEMES, categories, from_json, made, scheme_table, to_json
from core.mqm.typology import TYPOLOGIES

ROWS = [
    {"severity": "Major", "category": "any", "weight": 10},
    {"severity": "Minor", "category": "any", "weight": 1.0},
    {"severity": "any", "category": "Style", "weight": 0.0},
]


def test_a_scheme_holds_the_rows_of_the_table_and_nothing_else() -> None:
    mine = made("mine", ROWS, non_translation=30.0)
    assert (mine.name, mine.version, mine.non_translation) == ("mine", 1, 30.0)
    assert mine.weight("Major", "Accuracy/Omission") == 10
    assert mine.weight("Major", "Style/Unnatural or awkward") == 0
    assert mine.weight("Minor", "Fluency/Punctuation") == 1  # google's 0.1 is not there
    assert mine.weight("Minor", "Non-translation!") == 30
    with pytest.raises(UserError):
        mine.weight("Neutral", "Other")


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=lambda s: s.name)
def test_the_table_of_a_scheme_gives_its_weights_back(scheme) -> None:
    copy = made("copy", scheme_table(scheme), non_translation=scheme.non_translation)
    for severity in scheme.severities:
        for category in categories(scheme)[1:]:
            assert copy.weight(severity, category) == scheme.weight(severity, category)
    assert all(row["category"] in categories(scheme) for row in scheme_table(scheme))


def test_new_weights_get_the_next_version_equal_ones_keep_theirs() -> None:
    first = made("mine", ROWS, non_translation=None)
    second = made("mine", ROWS[:2], non_translation=None, known=[first])
    third = made("mine", ROWS[:2], non_translation=25.0, known=[GOOGLE, first, second])
    assert [s.version for s in (first, second, third)] == [1, 2, 3]
    assert made("mine", ROWS[::-1], non_translation=None, known=[second, third, first]) == first
    assert len({s.signature() for s in (first, second, third)}) == 3
    assert first.signature().startswith("mqm|scheme:mine|v:1|rules:")


def test_a_rule_ignores_case_and_can_have_a_severity_of_its_own() -> None:
    mine = made(
        "mine",
        [
            *scheme_table(GOOGLE)[:-1],
            {"severity": "minor", "category": "fluency/punctuation", "weight": 0.5},
            {"severity": "Critical", "category": "any", "weight": 10},
        ],
        non_translation=25.0,
    )
    assert mine.weight("Minor", "Fluency/Punctuation") == 0.5
    assert mine.weight("Critical", "Other") == 10
    assert mine.weight("Major", "Other") == 5


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [{"severity": "any", "category": "any", "weight": 1}],
        [{"severity": "Major", "category": "any", "weight": None}],
        [{"severity": None, "category": "any", "weight": 1}],
        [{"severity": "Major", "category": "any", "weight": -1}],
        [{"severity": "Major", "category": "any", "weight": float("nan")}],
        [ROWS[0], {**ROWS[0], "severity": "major"}],
    ],
)
def test_a_table_that_is_no_scheme_is_refused(rows) -> None:
    with pytest.raises(UserError):
        made("mine", rows, non_translation=None)


@pytest.mark.parametrize("name", ["", "  ", "google", "MAROT"])
def test_our_names_are_taken(name: str) -> None:
    with pytest.raises(UserError, match="a name of its own"):
        made(name, ROWS, non_translation=None)


def test_a_stored_scheme_comes_back_with_its_signature() -> None:
    for scheme in (made("mine", ROWS, non_translation=None), MAROT):
        back = from_json(json.loads(json.dumps(to_json(scheme))))
        assert back == scheme
        assert back.signature() == scheme.signature()
    assert schemes.ANYTHING not in json.dumps(to_json(made("mine", ROWS, non_translation=None)))


def test_a_rule_can_have_the_categories_of_the_typology_in_use() -> None:
    found = categories(SCHEMES["google"], TYPOLOGIES["summaries"])
    assert {"any", "Facts", "Facts/Entity", "Fluency/Punctuation"} <= set(found)  # the last one is of the scheme itself
    assert "Accuracy/Mistranslation" not in found
