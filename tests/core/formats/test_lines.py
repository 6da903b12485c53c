"""Line-aligned text."""

from __future__ import annotations

import pytest

from core.data import Dataset, Output, Segment
from core.errors import Problem, UserError
from core.formats import lines
from core.formats.files import Upload
from core.formats.given_roles import GivenRoles, files_as_read
from core.formats.lines import guess_roles
from core.formats.mapping import LineRoles
from core.formats.streams.opened import read_lines
from core.formats.streams.stage import Stage
from tests.core.formats.problems import problems_of
from tests.line_files import stage_lines


def up(name: str, text: str) -> Upload:
    return Upload(name, text.encode())


def cells(upload: Upload) -> tuple[object, ...]:
    return tuple(row.cells[0] for row in read_lines(upload).rows)


def aligned(source: Upload | None, references: list[Upload], systems: dict[str, Upload]) -> Dataset:
    return stage_lines(source, references, systems).dataset()


def problems(source: Upload | None, references: list[Upload], systems: dict[str, Upload]) -> tuple[Problem, ...]:
    return problems_of(aligned, source, references, systems)


def test_lines_belong_together_by_number() -> None:
    files = up("src.txt", "s1\ns2"), [up("ref.txt", "r1\r\n\r\n")]
    got = aligned(*files, {"A": up("A.txt", "\na2\n"), "B": up("B.txt", "b1\nb2\n")})
    assert got.segments == (Segment("", "1", "s1", ("r1",)), Segment("", "2", "s2", ()))
    texts = [("A", "1", ""), ("B", "1", "b1"), ("A", "2", "a2"), ("B", "2", "b2")]
    assert got.outputs == tuple(Output(system, "", segment, text) for system, segment, text in texts)
    assert aligned(None, [], {"A": up("a.txt", "x\n")}).segments == (Segment("", "1", None, ()),)


def test_long_lines_are_stored_before_many_are_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "CHARACTERS", 100)
    held: list[int] = []

    class CountedStage(Stage):
        def keep(self) -> None:
            held.append(len(self.outputs))
            super().keep()

    monkeypatch.setattr(lines, "Stage", CountedStage)
    files = [up(name, f"{'x' * 25}\n" * 10) for name in ("src.txt", "ref.txt", "A.txt")]
    got = aligned(files[0], [files[1]], {"A": files[2]})
    assert (len(got.segments), len(got.outputs)) == (10, 10)
    assert max(held) == 2


def test_a_final_newline_is_no_line_but_an_empty_line_is_and_unicode_separators_are_text() -> None:
    for text, lines_ in (
        ("x\n", ("x",)), ("x\n\n", ("x", "")), ("\n", ("",)),
        ("x\u2028y\nz\x85\x0b\x0c\x1c\n", ("x\u2028y", "z\x85\x0b\x0c\x1c")),
    ):  # fmt: skip
        assert cells(up("a", text)) == lines_


def test_the_file_whose_length_differs_is_named() -> None:
    (problem,) = problems(
        None, [up("ref.txt", "r\n" * 100)], {"hyp": up("hyp.txt", "h\n" * 98), "B": up("b.txt", "h\n" * 100)}
    )
    said = "hyp.txt: found 98 lines; expected 100, as ref.txt has. Each output needs one reference line"
    assert problem.sentence() == said
    for source, references, outputs, file in ((3, 2, 3, "ref.txt"), (0, 2, 1, "a.txt")):
        files = (up("src.txt", "s\n" * source) if source else None, [up("ref.txt", "r\n" * references)])
        (problem,) = problems(*files, {"A": up("a.txt", "h\n" * outputs)})
        assert problem.file == file


def test_all_unreadable_files_are_named_and_no_system_is_a_problem() -> None:
    unreadable = problems(Upload("s.txt", b"\xff\xfe"), [Upload("r.txt", b"")], {"A": up("a.txt", "x\ry\r")})
    assert [p.file for p in unreadable] == ["r.txt", "s.txt", "a.txt"]
    assert "carriage return" in unreadable[2].got
    assert problems(up("src.txt", "s\n"), [], {})[0].got == "no system"


def test_roles_are_guessed_from_names() -> None:
    systems = (("sysA.en", "sysA"), ("sysB.en.gz", "sysB"))
    assert guess_roles(["newstest-src.de", "ref.A.en", "refB.en", "sysA.en", "sysB.en.gz"]) == LineRoles(
        "newstest-src.de", ("ref.A.en", "refB.en"), systems
    )
    for name in (
        "reference-free-mt.txt", "open-source-llm.txt", "target-aware.txt", "synthetic_ref.txt", "HumanEval-7B.txt", "gold-nmt.txt",
    ):  # fmt: skip
        roles = guess_roles(["ref.txt", name, "google.txt"])
        assert (roles.source, roles.references) == (None, ("ref.txt",)), name
        assert [file for file, _ in roles.systems] == [name, "google.txt"]
    for names in (
        ("cnndm.source", "cnndm.target", "bart.out"),
        ("newstest2020-deen-src.de.txt", "newstest2020-deen-ref.en.txt", "A.txt"),
    ):
        assert guess_roles(list(names))[:2] == (names[0], (names[1],))
    assert guess_roles(["my-data.ref.txt", "my-data.sysA.txt"]).references == ("my-data.ref.txt",)
    # a second source is a system, and the names of systems differ
    roles = guess_roles(["open-source.txt", "source.txt", "m.1", "m.2"])
    assert roles.source == "source.txt"
    assert roles.systems == (("open-source.txt", "open-source"), ("m.1", "m.1"), ("m.2", "m.2"))


def test_a_role_can_be_given_to_a_file() -> None:
    roles = guess_roles(["ref.txt", "en-de.txt", "google.txt"])
    given = GivenRoles(["source=en-de.txt", "system=ref.txt", "unused=google.txt"])
    changed = given.of_files(roles)
    given.check()
    assert changed == LineRoles("en-de.txt", (), (("ref.txt", "ref"),), ("google.txt",))
    assert files_as_read(changed)[1:] == ["  source: en-de.txt", "  system: ref.txt", "  unused: google.txt"]
    with pytest.raises(UserError, match="cannot have this role"):
        GivenRoles(["human=ref.txt"]).of_files(roles)
    with pytest.raises(UserError, match="no text file has this name"):
        GivenRoles(["source=reff.txt"]).check()


def test_files_that_are_no_lines_of_text_are_refused() -> None:
    rows = [("A", 1, "ein Haus", "a house"), ("B", 1, "ein Haus", "one house"), ("A", 2, "rot", "red")]
    tsv = "".join("\t".join(map(str, row)) + "\n" for row in [("system", "segment", "source", "output"), *rows])
    objects = "".join(f'{{"system": "{s}", "id": {n}, "output": "{o}"}}\n' for s, n, _, o in rows)
    for text, found, todo in (
        ('<tstset setid="t">\n<seg id="1">a</seg>\n', "XML or SGML", "sacrebleu"),
        ('\n<?xml version="1.0"?>\n<dataset id="t">\n', "XML or SGML", "sacrebleu"),
        ("S-0\tein\nT-0\ta\nH-0\t-0.1\tan\nD-0\t-0.1\tan\nP-0\t-0.1 -0.2\n", "fairseq-generate", "grep ^D-"),
        ("a.txt\tSegment 0\tscore: 0.81\na.txt\tscore: 0.8100\n", "comet-score", "--to_json"),
        (
            "BLEU = 33.03 66.7/40.0/25.0/20.0 (BP = 1.000)\nBLEU = 20.1 50.0/1.0\n",
            "sacrebleu",
            "the files with the outputs",
        ),
        ("0 ||| a b ||| F0= -1 ||| -1.5\n0 ||| a c ||| F0= -2 ||| -2.5\n", "n-best", "the best output of each segment"),
        ('<seg id="1">a</seg>\n<seg id="2">b</seg>\n', "XML or SGML", "sacrebleu"),
        (tsv, "a table with the columns “system”", ".tsv"),
        (tsv.replace("\t", ";"), "a table with the columns “system”", ".csv"),
        (objects, "JSON objects with “system”", ".jsonl"),
        ("1\ta b\n2\tc d\n3\te f\n", "2 columns separated by tabs", "cut -f2"),
    ):
        (problem,) = problems(None, [], {"A": up("A.txt", text)})
        assert (found in problem.got, todo in problem.todo) == (True, True), problem


def test_texts_that_look_a_little_like_another_format_are_read() -> None:
    for text in (
        "<b>Hello</b> there\n", '{"name": "Blue Spice"}\n', "source, output\nin, out\nyes\n", "1\ta\n2\tb\n", "a\tb\nc\nd\n", "S-0\n",
    ):  # fmt: skip
        assert stage_lines(None, [], {"A": up("A.txt", text)}).n_outputs == text.count("\n")
    data = "name\tBlue Spice\nname\tAromi\nname\tBlue Spice\n"
    assert stage_lines(up("src.txt", data), [], {"A": up("A.txt", "a\nb\nc\n")}).n_outputs == 3


def test_files_of_numbers_and_files_named_after_a_language_are_noted() -> None:
    texts = "a b\nb c\nc d\n"
    files = {name: up(name, texts) for name in ("set.de", "set.en", "set.hyp.en")} | {
        "A.bleu": up("A.bleu", "20.1\n3\n.5\n")
    }
    notes = stage_lines(None, [], {name: files[name] for name in files if name != "A.bleu"}).notes()
    assert [note.split(":")[0] for note in notes if "language" in note] == ["set.de", "set.en"]
    notes = stage_lines(files["set.de"], [files["set.en"]], {"A": files["A.bleu"], "B": up("B.en", texts)}).notes()
    assert notes == ("A.bleu: every line is a number. Is it a file of scores? Then do not use it.",)
