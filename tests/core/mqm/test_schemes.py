import json

import pytest

from core.data import SEVERITIES
from core.errors import UserError
from core.mqm import schemes
from core.mqm.schemes import (
    FLAT,
    GOOGLE,
    MAROT,
    SCHEMES,
    Scheme,
    WeightRule,
    categories,
    from_json,
    made,
    scheme,
    scheme_table,
    to_json,
)
from core.mqm.typology import MQM, TYPOLOGIES


@pytest.mark.parametrize(
    ("severity", "category", "google", "marot", "flat"),
    [
        ("Major", "Accuracy/Mistranslation", 5, 5, 5),
        ("Minor", "Accuracy/Mistranslation", 1, 1, 1),
        ("Neutral", "Style/Awkward", 0, 0, 0),
        ("Minor", "Fluency/Punctuation", 0.1, 0.1, 1),
        ("Major", "Fluency/Punctuation", 5, 5, 5),
        ("minor", "fluency / punctuation", 0.1, 0.1, 1),
        ("Major", "Non-translation!", 25, 25, 5),
        ("Minor", "non-translation", 25, 25, 1),
        ("Minor", "Source error", 1, 0, 1),
        ("Major", "Source issue", 5, 0, 5),
        ("Major", "Accuracy/Creative Reinterpretation", 5, 0, 5),
        ("MAJOR", "Fluency/Punctuation marks", 5, 5, 5),
        ("Minor", "Fluency/Punctuation marks", 1, 1, 1),  # a longer name is not a branch below
        ("Minor", "Fluency/Punctuation/Comma", 0.1, 0.1, 1),
    ],
)
def test_weights_of_the_named_schemes(severity: str, category: str, google: float, marot: float, flat: float) -> None:
    assert [s.weight(severity, category) for s in (GOOGLE, MAROT, FLAT)] == [google, marot, flat]


@pytest.mark.parametrize("name", sorted(SCHEMES))
def test_every_category_has_a_weight_and_an_unknown_severity_none(name: str) -> None:
    paths = [*(c.path for c in MQM.categories), "Non-translation"]
    assert all(SCHEMES[name].weight(s, p) >= 0 for s in SEVERITIES for p in paths)
    for severity in ("Critical", "", "No-error", "Mjaor"):
        with pytest.raises(UserError, match="Major, Minor, Neutral"):
            SCHEMES[name].weight(severity, "Source error")


def test_minor_punctuation_weighs_the_same_in_both_typologies() -> None:
    for name in ("Fluency/Punctuation", "Linguistic conventions/Punctuation", "linguistic  Conventions/punctuation"):
        assert [GOOGLE.weight(s, name) for s in ("Major", "Minor", "Neutral")] == [5.0, 0.1, 0.0]
        assert (MAROT.weight("Minor", name), FLAT.weight("Minor", name)) == (0.1, 1.0)
    assert GOOGLE.weight("Minor", "Linguistic conventions/Spelling") == 1.0


def test_signatures_name_scheme_and_version() -> None:
    assert [s.signature() for s in (GOOGLE, MAROT)] == ["mqm|scheme:google|v:2", "mqm|scheme:marot|v:2"]
    assert Scheme("google", 1, (WeightRule("Major", "", 9.0),)).signature() != GOOGLE.signature()
    assert scheme(" Google") is GOOGLE
    with pytest.raises(UserError, match="google, marot, flat"):
        scheme("wmt")


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf")])
def test_a_weight_is_a_number_of_0_or_more(weight: float) -> None:
    with pytest.raises(UserError, match="0 or more"):
        Scheme("mine", 1, (WeightRule("Major", "", weight),))


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
    own = [
        {"severity": "minor", "category": "fluency/punctuation", "weight": 0.5},
        {"severity": "Critical", "category": "any", "weight": 10},
    ]
    mine = made("mine", [*scheme_table(GOOGLE)[:-1], *own], non_translation=25.0)
    weights = [("Minor", "Fluency/Punctuation"), ("Critical", "Other"), ("Major", "Other")]
    assert [mine.weight(*errors) for errors in weights] == [0.5, 10, 5]


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("mine", []),
        ("mine", [{"severity": "any", "category": "any", "weight": 1}]),
        ("mine", [{"severity": "Major", "category": "any", "weight": None}]),
        ("mine", [{"severity": None, "category": "any", "weight": 1}]),
        ("mine", [{"severity": "Major", "category": "any", "weight": -1}]),
        ("mine", [{"severity": "Major", "category": "any", "weight": float("nan")}]),
        ("mine", [ROWS[0], {**ROWS[0], "severity": "major"}]),
        *((name, ROWS) for name in ("", "  ", "google", "MAROT")),
    ],
)
def test_a_table_that_is_no_scheme_is_refused(name: str, rows: list[dict[str, object]]) -> None:
    with pytest.raises(UserError, match="a name of its own" if rows is ROWS else None):
        made(name, rows, non_translation=None)


def test_a_stored_scheme_comes_back_with_its_signature() -> None:
    for own in (made("mine", ROWS, non_translation=None), MAROT):
        back = from_json(json.loads(json.dumps(to_json(own))))
        assert back == own
        assert back.signature() == own.signature()
    assert schemes.ANYTHING not in json.dumps(to_json(made("mine", ROWS, non_translation=None)))


def test_a_rule_can_have_the_categories_of_the_typology_in_use() -> None:
    names = categories(SCHEMES["google"], TYPOLOGIES["summaries"])
    assert {"any", "Facts", "Facts/Entity", "Fluency/Punctuation"} <= set(names)  # the last one is of the scheme itself
    assert "Accuracy/Mistranslation" not in names
