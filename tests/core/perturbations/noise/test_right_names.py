"""Switched names must be complete and of the right kind."""

import pytest

from core.perturbations.registry import noise
from core.text.edits import Change


def changed(name: str, text: str) -> set[str]:
    """The parts of the text that the noise changes under some seed."""
    outcomes = [noise(name).noised(text, 1.0, seed) for seed in range(6)]
    return {text[e.start : e.end] for made in outcomes if isinstance(made, Change) for e in made.edits}


@pytest.mark.parametrize(
    "text",
    [
        "Mesut ozil plays for arsenal . Jordan henderson plays for liverpool .",
        "Greg dyke met Angela Merkel in the city. Leicester city host swansea city on saturday .",
        "They met Serena in the morning. Williams said she was tired.",
        "Barcelona won the match. The fans of Barca were happy.",
        "Esteban Cambiasson won the cup. They met Cambiasso at the club.",
        "Angela Merkel met nobody. It rained in Berlin.",
        "The work of Go Shiina pleased the fans of Hillary.",
        "Brendan Rodgers left the house. Brandon Rogers was happy with the team.",
        "In the International Break he played for Brazil .",
        "Devon and Cornwall Police thanked the London School of Economics and Trading.",
    ],
)
def test_name_parts_and_names_of_one_entity_are_not_switched(text: str) -> None:
    assert changed("entity-switching", text) == set()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Angela Merkel flew from Berlin to Paris.", {"Berlin", "Paris"}),
        ("The match between Everton and Chelsea was late.", {"Everton", "Chelsea"}),
        ("From 14 June, a night train will run between Bremen and Trieste again.", {"Bremen", "Trieste"}),
        ("England beat Italy in the match.", {"England", "Italy"}),
        ("The reporter said that Angela Merkel had met Barack Obama in Rome.", {"Angela Merkel", "Barack Obama"}),
    ],
)
def test_names_of_one_kind_are_exchanged(text: str, expected: set[str]) -> None:
    assert changed("entity-switching", text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "The media started an offensive against Ankara.",
        "The data were monitored by the United States and the students.",
        "He was taken to the hospital in the city of Boston.",
        "The Manchester City shot stopper is ten years younger.",
        "Chelsea full back Filipe wants to stay at the club.",
        "A kid named James Hayward lost his toy.",
        "They read of the Second Dutch Expedition to Indonesia.",
        "The ship was sold to William Denny and Brothers.",
        "The model took to Instagram to show off her watch.",
        "After the site was listed on the NPL, it was closed.",
        "The alley generated over US $ 7.3 billion in capital for the new firms.",
        "He is important to England in every match.",
        "They will marry in the brand new Elvis Presley 's Graceland Wedding Chapel .",
        "He has made a contract with the Estonian forward Albert Prosa.",
        "The club is attempting sign player Radamel Falcao.",
        "Also Surat Thani is familiar to many a traveller.",
        "He denounced them in the Secret Speech .",
    ],
)
def test_names_used_in_another_sense_do_not_become_generic(text: str) -> None:
    assert changed("generic-entity", text) == set()


def test_text_may_end_after_the_name_of_a_university_and_at() -> None:
    assert changed("generic-entity", "They came from Harvard University at") == {"Harvard University"}
