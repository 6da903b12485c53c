"""Suites out of a project, and kept cases as files that come back."""

import csv
import io
from datetime import UTC, datetime

import pytest

from core.data import Dataset, Item, Output, Segment, SegmentKey
from core.errors import UserError
from core.formats.error_cases import AdversarialCase, read_cases
from core.formats.files import Upload
from core.ports.robustness import KeptCase, SavedScore
from core.services.robustness.break_metric import TextPair
from core.services.robustness.cases import (
    as_csv,
    as_menli,
    drawn,
    make,
    outputs_of,
    texts_of,
    to_keep,
)

SEGMENTS = (
    Segment("a", "1", "Das Haus ist alt.", ("The house is old.", "The building is an old one.")),
    Segment("a", "2", None, ("She bought 20 cars in Berlin.",)),
    Segment("b", "1", "Nichts", ()),
)
DATA = Dataset(
    SEGMENTS,
    (Output("A", "a", "1", "The house is ancient."), Output("A", "a", "2", " "), Output("A", "b", "1", "Nothing")),
)


def test_paraphrases_are_second_references_or_what_a_system_wrote() -> None:
    (second,) = make(SEGMENTS, ["negation"]).cases
    assert second.good == Item("Das Haus ist alt.", "The building is an old one.", ("The house is old.",))
    assert second.bad.hypothesis == "The house is not old."
    assert texts_of(second) == TextPair("Das Haus ist alt.", "The house is old.", second.good.hypothesis, "The house is not old.")  # fmt: skip
    (output,) = make(SEGMENTS, ["negation"], written=outputs_of(DATA, "A")).cases
    assert output.good.hypothesis == "The house is ancient."
    without = make(SEGMENTS, ["negation"], written={})
    assert without.cases == (), "references do not replace missing outputs"
    assert without.counts[0].reasons == (("no paraphrase: none given, and no second reference", 2),)


def test_reference_free_cases_perturb_the_output_and_need_a_source() -> None:
    made = make(SEGMENTS, ["negation", "number"], written=outputs_of(DATA, "A"), reference_free=True)
    (case,) = made.cases
    assert case.good == Item("Das Haus ist alt.", "The house is old.", ())
    assert case.bad == Item("Das Haus ist alt.", "The house is not ancient.", ())
    assert [(c.phenomenon, c.cases, c.untouched) for c in made.counts] == [("negation", 1, 1), ("number error", 0, 2)]
    written = {SegmentKey("a", "2"): "In Berlin she got 20 cars."}
    made = make(SEGMENTS[1:2], ["number"], written=written, reference_free=True)
    assert (made.cases, made.counts[0].reasons) == ((), (("no source", 1),))


def test_the_suite_as_a_file_is_read_back_as_the_same_cases() -> None:
    made = make(SEGMENTS, ["negation", "typo"])
    assert read_cases([Upload("cases.csv", made.csv.encode())]).cases == made.cases
    assert "\nneg,a:1," in made.csv
    assert "perturbations:negation:" in made.signature


def test_reference_free_ignores_unperturbable_references() -> None:
    plain = "It was a good day for all of them in the city."
    segments = [
        Segment("a:b", "c", "S1", (plain, "It was a good day for the 12 men.")),
        Segment("a", "b:c", None, (plain, "It was a good day for the 15 men.")),
        Segment("d", "1", "S3", ("There are 12 men in the city.", " ")),
        Segment("d", "2", "S4", (" ",)),
    ]
    made = make(segments, ["number"], reference_free=True)
    ((one),) = made.cases
    assert (one.id, one.good) == ("3:a:b:c", Item("S1", plain, ()))
    assert dict(made.counts[0].reasons) == {
        "no source": 1, "no second text: neither an output nor a second reference": 1,
    }  # fmt: skip
    assert read_cases([Upload("cases.csv", made.csv.encode())], reference_free=True).cases == made.cases
    copied = make(
        segments[2:], ["number"], 0, {SegmentKey("d", "1"): "There are 12 men in the city."}, reference_free=True
    )
    assert [c.good.hypothesis for c in copied.cases] == ["There are 12 men in the city."]
    assert [s.segment_id for s in drawn(segments[2:], 9, 0)] == ["1"]


def test_texts_that_begin_like_formulas_come_back_word_for_word() -> None:
    table = "id,error,source,ref,r,hyp_para,hyp_adv_based,hyp_adv_free\n1,neg,s,'- so,r,'=p,b,f\n"
    (case,) = read_cases([Upload("theirs.csv", table.encode())]).cases
    assert case.good == Item("s", "'=p", ("'- so",)), "files of others keep their apostrophes"
    texts = ("- Bush said that the war is over.", "'- Bush said the war was finished.")
    made = make([Segment("-d", "1", "=Quelle", texts)], ["negation", "typo"])
    assert "'- Bush" in made.csv
    back = read_cases([Upload("cases.csv", made.csv.encode())]).cases
    assert back == made.cases
    assert back[0].good == Item("=Quelle", texts[1], texts[:1])


def test_progress_is_reported_per_phenomenon() -> None:
    told: list[float] = []
    make(SEGMENTS, ["negation", "typo"], progress=told.append)
    assert told == [0, 0.5]
    with pytest.raises(UserError):
        make(SEGMENTS, ["negotiation"])


def test_segments_are_drawn_with_a_seed_and_keep_their_order() -> None:
    many = [Segment("d", str(i), None, ("r",) if i % 2 else ()) for i in range(40)]
    some = drawn(many, 5, 3)
    assert some == drawn(many, 5, 3)
    assert len(some) == 5
    assert all(s.references for s in some)
    assert [int(s.segment_id) for s in some] == sorted(int(s.segment_id) for s in some)
    assert len(drawn(many, 20, 0)) == 20
    assert drawn(many, 5, 4) != some


def test_the_change_is_described_for_its_text() -> None:
    texts = TextPair(None, "It costs 5 €.", "Five € is the price.", "It costs 9 €.")
    assert to_keep(" demo ", texts, (), kind="number error", error_in=texts.reference).what == "5 → 9"
    assert to_keep(" demo ", texts, ()).collection == "demo"


def kept(**changed: object) -> KeptCase:
    fields: dict[str, object] = {
        "collection": "demo", "phenomenon": "number error", "source": None, "reference": "It costs 5 €.",
        "good": "5 €, it costs.", "changed": "=9 €, it costs.", "what": "5 → 9",
        "scores": (SavedScore("chrf", "chrf|v:1", True, 70.5, 60.25), SavedScore("nli", "n", True, None, 0.5, "why")),
        "created": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "id": 7,
    }  # fmt: skip
    return KeptCase(**(fields | changed))  # type: ignore[arg-type]


def test_collections_export_to_menli_csv() -> None:
    text, left_out = as_menli([kept(good="- 5 €, it costs."), kept(reference=None, source="s"), kept(changed="")])
    assert left_out == 2
    (case,) = read_cases([Upload("demo.csv", text.encode())]).cases
    assert case == AdversarialCase(
        "number error",
        "demo:7",
        Item(None, "- 5 €, it costs.", ("It costs 5 €.",)),
        Item(None, "=9 €, it costs.", ("It costs 5 €.",)),
    )


def test_a_collection_as_csv_has_a_row_a_metric_and_no_formulas() -> None:
    first, second = csv.DictReader(io.StringIO(as_csv([kept()])))
    assert (first["metric"], first["score_good"], first["score_changed"], first["fooled"]) == (
        "chrf",
        "70.5",
        "60.25",
        "no",
    )
    assert first["changed"] == "'=9 €, it costs."
    assert (second["score_good"], second["fooled"], second["reason"]) == ("", "", "why")
    assert second["created"] == "2026-01-02T03:04:05+00:00"
    assert len(as_csv([kept(scores=())]).splitlines()) == 2
