"""Which task texts look like, and the default metrics for it."""

from core.data import Dataset, Output, Segment
from core.metrics.registry import STANDARD, load_metric
from core.services.projects import sample
from core.services.projects.task import (
    default_metrics,
    language_warning,
    languages_of,
    may_preselect,
    mostly_unread,
    output_languages,
    task_of,
    unread,
)

LONG = "The council met on Tuesday to discuss the flood defences along the river. " * 8


def texts(source: str | None, output: str) -> Dataset:
    return Dataset((Segment("d", "1", source, ("r",)),), (Output("A", "d", "1", output),))


def test_the_task_is_guessed_from_the_texts() -> None:
    cat, eagle = "The cat sits on the mat.", "The Eagle serves French food."
    cafe = "inform(name='red door cafe';goodformeal='breakfast')"
    for source, output, task in (
        ("Die Katze sitzt auf der Matte.", cat, "translation"),
        ("猫坐在垫子上。", cat, "translation"),
        (LONG, "The council discussed flood defences.", "summary"),
        (cafe, "Red door cafe is good for breakfast.", "data-to-text"),
        ("name[The Eagle], food[French], area[riverside]", eagle, "data-to-text"),
        ("Alan_Bean | occupation | Test_pilot", "Alan Bean was a test pilot.", "data-to-text"),
        ('{"name": "The Eagle", "food": "French"}', eagle, "data-to-text"),
        ("She go to school every days.", "She goes to school every day.", "other"),
        (None, cat, "other"),
        (None, LONG, "summary"),
        ("", "", "other"),
    ):
        assert task_of(texts(source, output)) == task
    assert task_of(sample.dataset()) == "translation"
    assert set(STANDARD) - set(default_metrics("summary")) == {"ter"}  # summaries are not scored with TER at first
    assert default_metrics("translation") == STANDARD


def test_languages_that_english_models_do_not_read_are_named() -> None:
    english, short = "The council met on Tuesday and is to discuss the flood defences. ", "Pat sat down."
    arabic, japanese = "اجتمع المجلس يوم الثلاثاء لمناقشة الدفاعات", "評議会は火曜日に会合を開いた。"
    german = "Der Rat hat sich am Dienstag getroffen, und das ist nicht die letzte Sitzung."
    for text, names in (
        (english, ()), (short, ()), ("", ()), ("12 %", ()), (arabic, ("Arabic script",)), (japanese, ("Japanese",)), (german, ("German",)),
        (f"{arabic} (NATO)", ("Arabic script",)),
    ):  # fmt: skip
        shares = output_languages(texts("source", text))
        assert (unread(shares), mostly_unread(shares)) == (names, bool(names)), text
        assert bool(language_warning(shares, ["BARTScore F"])) == bool(names)
    some = languages_of([english * 7] * 8 + [arabic * 10] * 2)
    assert (unread(some), mostly_unread(some)) == (("Arabic script",), False)
    assert language_warning(some, []) == ""
    model, string = load_metric("bartscore"), load_metric("chrf")
    for shares, fits in ((output_languages(texts("source", arabic)), False), (some, True)):
        assert (may_preselect(model, shares), may_preselect(string, shares)) == (fits, True)
    said = language_warning(some, ["A", "B", "C", "D", "E", "F"])
    assert "Scores of A, B, C, D and 2 more say little" in said
