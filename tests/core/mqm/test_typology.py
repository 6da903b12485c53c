from core.mqm.typology import TREE, is_non_translation, marked_in, needs_note, paths


def test_paths_are_the_leaves_of_the_tree_and_differ() -> None:
    everything = paths()
    assert len(everything) == len(set(everything)) == sum(len(branch.children) or 1 for branch in TREE)
    assert {"Accuracy/Omission", "Fluency/Punctuation", "Other", "Source issue", "Non-translation"} <= set(everything)
    assert "Accuracy" not in everything


def test_a_verdict_is_no_category_to_mark_with() -> None:
    assert set(paths()) - set(paths(marks_only=True)) == {"Non-translation"}


def test_only_other_needs_a_note() -> None:
    assert [p for p in paths() if needs_note(p)] == ["Other"]
    assert needs_note("OTHER ")
    assert needs_note("other/anything")


def test_an_omission_is_marked_in_the_source() -> None:
    assert marked_in("accuracy/omission") == "source"
    assert marked_in("Accuracy/Addition") == "output"
    assert marked_in("Source issue") == "either"
    assert marked_in("a category of their own") == "either"


def test_non_translation_is_known_in_any_spelling() -> None:
    assert all(is_non_translation(c) for c in ("Non-translation!", "non-translation", " Non-Translation ! "))
    assert not is_non_translation("Accuracy/Mistranslation")
