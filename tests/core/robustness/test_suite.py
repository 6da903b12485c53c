"""Suites from a project's own references, and the listing that a person checks them by."""

from pathlib import Path

import pytest

from core.data import Segment, SegmentKey
from core.errors import UserError
from core.formats.error_cases import COLUMNS, read_pairs
from core.formats.files import Upload
from core.formats.write import csv_text
from core.perturbations import registry
from core.robustness import suite
from core.text.edits import Change, apply
from tests.bench import listing
from tests.paths import DATA

MENLI = DATA / "menli_wmt20_de_adversarial.csv.gz"
SEGMENTS = [
    Segment("a", "1", "Das Haus ist alt.", ("The house is old.", "The building is an old one.")),
    Segment("a", "2", None, ("She bought 20 cars in Berlin.",)),
    Segment("b", "1", "Nichts", ()),
]


def test_a_case_has_reference_paraphrase_and_perturbation() -> None:
    built = suite.build(suite.anchors(SEGMENTS), ["negation"])
    (case,) = built.cases
    assert (case.id, case.reference, case.paraphrase) == ("a:1", "The house is old.", "The building is an old one.")
    assert case.adversarial == "The house is not old."
    assert apply(case.reference, case.edits) == case.adversarial
    assert built.untouched == (
        suite.Untouched("negation", "a:2", "no paraphrase: none given, and no second reference"),
    )


def test_a_given_paraphrase_goes_before_the_second_reference() -> None:
    paraphrases = {
        SegmentKey("a", "1"): "The house has many years.",
        SegmentKey("a", "2"): "In Berlin she got 20 cars.",
    }
    built = suite.build(suite.anchors(SEGMENTS, paraphrases), ["number", "negation"])
    assert [(c.phenomenon, c.id, c.paraphrase) for c in built.cases] == [
        ("number", "a:2", "In Berlin she got 20 cars."),
        ("negation", "a:1", "The house has many years."),
        ("negation", "a:2", "In Berlin she got 20 cars."),
    ]


def test_reference_free_cases_perturb_the_translation() -> None:
    anchors = [a._replace(translation="The building is old.") for a in suite.anchors(SEGMENTS) if a.id == "a:1"]
    (case,) = suite.build(anchors, ["negation"]).cases
    assert case.free == "The building is not old."
    assert apply("The building is old.", case.free_edits) == case.free


def test_what_could_not_be_touched_is_counted_by_reason() -> None:
    anchors = [
        suite.Anchor(str(i), text, "Other words.")
        for i, text in enumerate(["We left.", "They saw it.", "He has 3 cats."])
    ]
    count = suite.build([*anchors, suite.Anchor("9", "Other words.", "Other words.")], ["number"]).counts()
    assert count == [suite.Count("number", 1, 3, (("no number", 2), ("the paraphrase is the reference", 1)))]


def test_reference_free_cases_need_only_the_second_text() -> None:
    anchors = [
        suite.Anchor("1", "It was a good day for all.", None, "Quelle", "It was a good day for the 12 men."),
        suite.Anchor("2", "There are 12 men in it.", None, "Quelle", "There are 12 men in it."),
        suite.Anchor("3", "There are 12 men in it.", "Some are.", "Quelle", "There are men in it."),
        suite.Anchor("4", "There are 12 men in it.", "Some are.", " ", "There are 12 men in it."),
        suite.Anchor("5", "There are 12 men in it.", "Some are.", "Quelle"),
    ]
    built = suite.build(anchors, ["number"], reference_free=True)
    assert [(c.id, c.adversarial) for c in built.cases] == [("1", None), ("2", None)]
    assert [apply(c.translation or "", c.free_edits) for c in built.cases] == [c.free for c in built.cases]
    assert [u.reason for u in built.untouched] == [
        "no number", "no source", "no second text: neither an output nor a second reference",
    ]  # fmt: skip
    assert [row[5:7] for row in built.rows()] == [("", ""), ("", "")]
    assert [c.id for c in suite.build(anchors, ["number"]).cases] == ["3", "4", "5"]


def test_white_space_is_neither_a_reference_nor_a_paraphrase() -> None:
    segments = [
        Segment("d", "1", "Quelle", (" ", "There are 12 men.", "\n", "Men are here, 12 of them.")),
        Segment("d", "2", "Quelle", ("\t",)),
    ]
    (anchor,) = suite.anchors(segments, {SegmentKey("d", "1"): " "})
    assert anchor == suite.Anchor("d:1", "There are 12 men.", "Men are here, 12 of them.", "Quelle", None)


def test_no_two_segments_share_a_name() -> None:
    parts = ["a", "b", "c", "a:b", "b:c", ":", "1", "1:a", "", "3:a"]
    keys = [SegmentKey(doc, segment) for doc in parts for segment in parts]
    assert len({suite.name_of(key) for key in keys}) == len(keys) == 100
    assert suite.name_of(SegmentKey("a", "b")) == "a:b"


def test_a_suite_is_independent_of_order_and_other_segments() -> None:
    anchors = [suite.Anchor(str(i), text, "x") for i, text in enumerate(listing.sample_texts())]
    whole, back, part = (suite.build(a, seed=5) for a in (anchors, anchors[::-1], anchors[3:5]))
    assert set(whole.cases) == set(back.cases) >= set(part.cases)
    assert set(whole.cases) != set(suite.build(anchors, seed=6).cases)
    assert whole.signature.startswith("suite|perturbations:addition:4+omission:4+name:3+")
    assert "|seed:5|parser:" in whole.signature


def test_a_written_suite_is_read_again_as_pairs() -> None:
    built = suite.build(suite.anchors(SEGMENTS), ["negation", "agreement"])
    read = read_pairs([Upload("suite.csv", csv_text(COLUMNS, built.rows()).encode())])
    assert [(p.type, p.references, p.good, p.perturbed, p.id) for p in read.pairs] == [
        (c.phenomenon, (c.reference,), c.paraphrase, c.adversarial, c.id) for c in built.cases
    ]


def test_the_listing_marks_every_edit_and_counts_refusals(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "texts.txt"
    path.write_text("The house is old.\nWe met there.\n", "utf-8")
    listing.main([str(path), "--names", "negation,number", "--seed", "0"])
    said = capsys.readouterr().out
    assert "1. The house is{→ not} old." in said
    assert "## Number error (`number`): 0 of 2" in said
    assert "- refused, 2: no number" in said


def test_the_listing_reads_references_from_a_table(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("error,ref,hyp\nneg,One text,x\nnum,One text,y\nnum,Another,z\n", "utf-8")
    assert listing.texts_of(path) == ["One text", "Another"]
    path.write_text("a,b\n1,2\n", "utf-8")
    with pytest.raises(UserError, match="no column of references"):
        listing.texts_of(path)


@pytest.mark.skipif(not MENLI.exists(), reason="the shared data stand beside the repository")
def test_every_phenomenon_applies_to_published_references() -> None:
    """Each sentence was chosen by the authors for having a number, a name, …, under its own phenomenon: at least half of
    these are perturbed here as well (fewer where much is refused, see docs/perturbations.md), and none into itself."""
    pairs = read_pairs([Upload(MENLI.name, MENLI.read_bytes())]).pairs
    for name in registry.MENLI:
        perturbation = registry.load_perturbation(name)
        texts = [p.references[0] for p in pairs if p.type == CODES[name]]
        made = [perturbation.perturb(text, 0) for text in texts]
        changes = [m for m in made if isinstance(m, Change)]
        assert len(texts) == 200
        assert len(changes) >= LEAST.get(name, 100), name
        assert all(m.text not in texts for m in changes)


CODES = {
    "addition": "add", "omission": "drop", "name": "name", "negation": "neg", "number": "num", "pronoun": "pron",
    "adjective": "word_JJ", "noun": "word_NN", "verb": "word_VB", "typo": "typo", "jumble": "jumble",
    "agreement": "subject_verb_dis",
}  # fmt: skip
LEAST = {"verb": 35, "omission": 35, "addition": 45, "adjective": 90}
