"""Files of perturbed pairs: tables under usual names, and the JSON lists of DEMETR."""

from __future__ import annotations

import json

from core.errors import Problem
from core.formats.error_cases import PerturbedPair, PerturbedPairs, read_cases, read_pairs
from core.formats.files import Upload
from tests.core.formats.problems import problems_of


def read(name: str, text: str) -> PerturbedPairs:
    return read_pairs([Upload(name, text.encode())])


def refused(name: str, text: str) -> tuple[Problem, ...]:
    return problems_of(read, name, text)


def test_csv_tsv_and_jsonl_say_the_same() -> None:
    expected = (
        PerturbedPair("number", ("He had 5.",), "He had 5.", "He had 6.", "Er hatte 5.", "1"),
        PerturbedPair("drop", ("It is red.",), "It's red.", "", None, "2"),
    )
    csv = "id,type,source,reference,good,perturbed\n1,number,Er hatte 5.,He had 5.,He had 5.,He had 6.\n"
    csv += "2,drop,,It is red.,It's red.,\n"
    objects = [
        {"id": int(p.id), "type": p.type, "source": p.source, "reference": p.references[0]}
        | {"good": p.good, "perturbed": p.perturbed}
        for p in expected
    ]
    assert read("a.csv", csv).pairs == expected
    assert read("a.tsv", csv.replace(",", "\t")).pairs == expected
    assert read("a.jsonl", "".join(json.dumps(o) + "\n" for o in objects)).pairs == expected
    assert read("a.json", json.dumps(objects)).pairs == expected


def test_several_files_are_joined_with_all_references() -> None:
    uploads = [Upload(f"{t}.csv", f"Type,Ref1,ref_2,good,perturbed\n{t},r,s,g,p\n".encode()) for t in "ab"]
    assert read_pairs(uploads).pairs == (
        PerturbedPair("a", ("r", "s"), "g", "p"),
        PerturbedPair("b", ("r", "s"), "g", "p"),
    )


def test_released_suites_are_recognised_and_a_source_may_stand_for_the_reference() -> None:
    for header in (
        "error,source,ref,hyp_para,hyp_adv_based",
        "phenomena,source,reference,good-translation,incorrect-translation",
    ):
        assert read("a.csv", f"{header}\nnum,s,r,g,p\n").pairs == (PerturbedPair("num", ("r",), "g", "p", "s"),)
    assert read("a.csv", "type,source,good,perturbed\nt,s,g,p\n").pairs == (PerturbedPair("t", (), "g", "p", "s"),)


def record(number: int, perturbed: str, applies: bool) -> dict[str, object]:
    """A record with the field names and kinds of value of the DEMETR release."""
    return {
        "id": number, "src_sent": "Quelle", "eng_sent": "They sold 25 of them.", "mt_sent": "They have sold 25 “of them”.",
        "pert_sent": perturbed, "lang_tag": "german", "data_source": "WMT", "pert_check": applies, "severity": "critical",
        "pert_id": 10, "pert_desc": "numbers changed in a reasonable range", "pert_name": "critical_id10_numbers_replaced",
    }  # fmt: skip


def test_unperturbed_demetr_records_are_left_out() -> None:
    good = "They have sold 25 “of them”."
    records = [record(1, good, False), record(2, good.replace("25", "21"), True), record(3, good, True)]
    found = read("critical_id10_numbers_replaced.json", json.dumps(records, indent=2, ensure_ascii=False))
    kind = "critical_id10_numbers_replaced"
    assert found.pairs == (
        PerturbedPair(kind, ("They sold 25 of them.",), good, "They have sold 21 “of them”.", "Quelle", "2"),
        PerturbedPair(kind, ("They sold 25 of them.",), good, good, "Quelle", "3"),
    )
    assert (found.left_out, found.equal) == (1, 1)
    left, equal = found.notes()
    assert left.startswith("1 record marked")
    assert equal.startswith("1 pair with two equal texts")


def test_a_problem_in_a_json_list_names_the_line_of_its_record() -> None:
    # the list opens on line 1, each record takes 14 lines with its braces; the second begins on line 16
    records = [record(1, "x", True), record(2, "y", True) | {"mt_sent": None, "pert_check": "maybe"}]
    problems = refused("a.json", json.dumps(records, indent=2))
    assert [(p.row, p.column, p.got) for p in problems] == [(16, "pert_check", "“maybe”"), (16, "mt_sent", "nothing")]
    on_one_line = [{"type": "t", "ref": "r", "good": "g", "perturbed": "p"}, {"type": "t", "ref": "r", "good": "g"}]
    assert [(p.row, p.column) for p in refused("a.json", json.dumps(on_one_line))] == [(2, "perturbed")]
    for text, row, got in (
        ('[{"type": "a",\n "good": }]', 2, "broken JSON"),
        ('[\n{"type": "a"}', 2, "does not end"),
        ('[{"type": "a"} {"type": "b"}]', 1, "“{"),
        ('[{"type": "a"}]\n[1]', 1, "after the list"),
        ('[{"type": "a"},\n 3]', 2, "“3”"),
        ("[" * 100_000, 1, "nesting"),
        ("[]", 0, "no rows"),
        (json.dumps([record(1, "x", False)]), 0, "no perturbed pair"),
    ):
        problem = refused("a.json", text)[0]
        assert (problem.row, got in problem.got) == (row, True)
    good, unusable = (
        Upload(name, json.dumps([record(1, "x", usable)]).encode())
        for name, usable in (("a.json", True), ("b.json", False))
    )
    assert [p.file for p in problems_of(read_cases, [good, unusable])] == ["b.json"]


def test_every_missing_column_is_named_with_what_is_there() -> None:
    problems = refused("a.csv", "kind,correct\nx,y\n")
    assert [p.column for p in problems] == ["good", "perturbed", "reference"]
    assert "kind, correct" in problems[0].got
    assert "mt_sent" not in problems[0].got
    assert problems[2].expected == "a column reference or ref or eng_sent"


def test_every_cell_that_cannot_be_used_is_a_problem() -> None:
    problems = refused("a.csv", "type,reference,good,perturbed\n,r,g,p\nt,r,g,p\n,r,g,p\n")
    assert [(p.row, p.column, p.got) for p in problems] == [(2, "type", "nothing"), (4, "type", "nothing")]
    (nested,) = refused("a.jsonl", '{"type": "t", "ref": "r", "good": ["a", "b"], "perturbed": "p"}\n')
    assert nested.got == "a list"
    uploads = [Upload("a.csv", b"type,good\nt,g\n"), Upload("b.csv", b"type,ref,good,perturbed\n,r,g,p\n")]
    assert {p.file for p in problems_of(read_pairs, uploads)} == {"a.csv", "b.csv"}
