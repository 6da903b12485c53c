"""Signatures read back, and content keys that never confuse two texts."""

from hypothesis import given
from hypothesis import strategies as st

from core.signature import content_key, external_signature, format_exact, signature

texts = st.tuples(st.none() | st.text(), st.text(), st.lists(st.text(), max_size=3).map(tuple))


def test_a_signature_is_written_in_the_order_given() -> None:
    assert signature("m", {"v": 1, "lambda": 1.70, "stem": False}) == "m|v:1|lambda:1.7|stem:no"


@given(st.text(), st.text())
def test_a_signature_splits_again_at_every_bar(name: str, value: str) -> None:
    assert signature("m", {name: value}).count("|") == 1


@given(texts, texts)
def test_two_items_share_a_key_only_if_they_are_equal(first, second) -> None:
    assert (content_key(*first) == content_key(*second)) == (first == second)


def test_missing_and_empty_source_differ() -> None:
    assert content_key(None, "a", ()) != content_key("", "a", ())


def test_numbers_in_a_signature_read_back_as_they_were() -> None:
    for value in (1.0, 1.7, 0.1, 2.0231415926, 1e-9, float("inf")):
        assert float(format_exact(value)) == value
    assert (format_exact(1.0), format_exact(1.7), format_exact(float("inf"))) == ("1", "1.7", "inf")


def test_two_columns_of_one_file_under_one_name_have_two_signatures() -> None:
    one, two = (external_signature("m", True, [("f.csv", "00", column)]) for column in ("a", "b"))
    assert one == "external|name:m|direction:higher|file:f.csv|column:a|sha256:00"
    assert two == "external|name:m|direction:higher|file:f.csv|column:b|sha256:00"
    several = external_signature("m", True, [("f.csv", "00", "a"), ("m.seg.score", "11", "")])
    assert "|file:f.csv + m.seg.score|column:a + –|" in several
    assert "column" not in external_signature("m", True, [("m.seg.score", "11", "")])
