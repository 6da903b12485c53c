"""Lower-case sentences, in which names cannot be told from other words."""

import pytest

from core.english.analysis import parse_text
from core.english.certain_words import uncased
from core.text.edits import Refused


def sentences_uncased(text: str) -> list[bool]:
    r = parse_text(text)
    assert not isinstance(r, Refused)
    return [uncased(r, start) for start, _ in r.sentences]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mesut ozil plays for arsenal . He is expected to stay at the club .", [True, True]),
        ("Leicester host the foxes on saturday . Pearson has urged his players to win .", [True, True]),
        ("Mesut Ozil plays for Arsenal . He is expected to stay at the club .", [False, False]),
        ("The fish swam up his arm . It was very tame and the man was happy .", [False, False]),
        ("The dutchman left his club . Angela Merkel met the president .", [True, False]),
        ("Three players on the website scored four goals in the app .", [False]),
    ],
)
def test_a_sentence_is_uncased_where_it_has_names_in_lower_case(text: str, expected: list[bool]) -> None:
    assert sentences_uncased(text) == expected
