import pytest

from core.errors import UserError
from core.mqm.schemes import FLAT, GOOGLE, MAROT, SCHEMES, Scheme, WeightRule, scheme
from core.mqm.typology import paths


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
@pytest.mark.parametrize("severity", ["Critical", "", "No-error", "Mjaor"])
def test_an_unknown_severity_is_an_error_and_not_0(name: str, severity: str) -> None:
    with pytest.raises(UserError, match="Major, Minor, Neutral"):
        SCHEMES[name].weight(severity, "Source error")


@pytest.mark.parametrize("name", sorted(SCHEMES))
def test_every_category_of_the_tree_has_a_weight(name: str) -> None:
    assert all(SCHEMES[name].weight(s, p) >= 0 for s in ("Major", "Minor", "Neutral") for p in paths())


def test_minor_punctuation_weighs_the_same_in_both_typologies() -> None:
    for name in ("Fluency/Punctuation", "Linguistic conventions/Punctuation", "linguistic  Conventions/punctuation"):
        assert [GOOGLE.weight(s, name) for s in ("Major", "Minor", "Neutral")] == [5.0, 0.1, 0.0]
        assert (MAROT.weight("Minor", name), FLAT.weight("Minor", name)) == (0.1, 1.0)
    assert GOOGLE.weight("Minor", "Linguistic conventions/Spelling") == 1.0


def test_signatures_name_scheme_and_version() -> None:
    assert GOOGLE.signature() == "mqm|scheme:google|v:2"
    assert MAROT.signature() == "mqm|scheme:marot|v:2"


def test_a_scheme_cannot_pose_as_one_of_ours() -> None:
    assert Scheme("google", 1, (WeightRule("Major", "", 9.0),)).signature() != GOOGLE.signature()


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf")])
def test_a_weight_is_a_number_of_0_or_more(weight: float) -> None:
    with pytest.raises(UserError, match="0 or more"):
        Scheme("mine", 1, (WeightRule("Major", "", weight),))


def test_an_unknown_scheme_names_those_there_are() -> None:
    assert scheme(" Google") is GOOGLE
    with pytest.raises(UserError, match="google, marot, flat"):
        scheme("wmt")
