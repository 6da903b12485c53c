import csv
import gzip
import io

import pytest

from core.data import Dataset, Output, OutputKey, RatedOutput, Segment, Span
from core.errors import ImportProblems
from core.formats.files import Upload
from core.formats.labels.google_mqm import COLUMNS, read_google_mqm, write_google_mqm
from core.formats.labels.label_formats import guess
from tests.core.formats.label_cases import dataset, rating
from tests.core.formats.problems import problems_of
from tests.paths import DATA

HEAD = "system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity\n"


def tsv(*rows: str) -> bytes:
    """Rows given as "source|target|category|severity", all of rater r on system S, segment 7 of document d."""
    return (HEAD + "".join("S\td\t1\t7\tr\t" + row.replace("|", "\t") + "\n" for row in rows)).encode()


def errors_of(data: bytes) -> list[Span]:
    return [e for r in read_google_mqm(data).rated for e in r.errors]


def test_an_error_is_read_with_its_span_and_the_tags_are_removed() -> None:
    found = read_google_mqm(tsv("ein Haus|a <v>mouse</v> here|Accuracy/Mistranslation|Major"))
    assert found.dataset.segments == (Segment("d", "7", "ein Haus"),)
    assert found.dataset.outputs == (Output("S", "d", "7", "a mouse here"),)
    span = Span("output", 2, 7, "mouse", "Major", "Accuracy/Mistranslation")
    assert found.rated == (RatedOutput(OutputKey("S", "d", "7"), "r", (span,)),)
    assert not found.warnings


def test_unusual_marks_keep_their_error() -> None:
    for rows, errors, odd in (
        ("ein <v>altes</v> Haus|a house|Accuracy/Omission|minor", [Span("source", 4, 9, "altes", "Minor", "Accuracy/Omission")], ""),
        ("s|ab<v></v>cd|Style|Minor", [Span("output", 2, 2, "", "Minor", "Style")], ""),
        ("s|a <v>b c|Style|Minor", [Span("output", 2, 5, "b c", "Minor", "Style")], "a <v> without its </v>"),
        ("s|a b</v> c|Style|Minor", [Span("output", 0, 3, "a b", "Minor", "Style")], "a </v> without its <v>"),
        ("s|t|Non-translation!|Major", [Span("output", 0, 0, "", "Major", "Non-translation!")], "an error without a span"),
        ("s|a <v>b</v> c <v>d</v> e|Style|Minor", [Span("output", 2, 7, "b c d", "Minor", "Style")], "several marks"),
        *((f"s|t|{word}|{word}", [], "") for word in ("No-error", "no-error", "NO ERROR")),
    ):  # fmt: skip
        read = read_google_mqm(tsv(*rows.split("\n")))
        assert [(r.key, r.rater, list(r.errors)) for r in read.rated] == [(OutputKey("S", "d", "7"), "r", errors)]
        assert [w[:3] for w in read.warnings] == [("MQM TSV", 2, "target")] * bool(odd)
        assert all(odd in w.got for w in read.warnings)
        assert read.dataset.segments[0].source == rows.split("|")[0].replace("<v>", "").replace("</v>", "")
    twice = tsv("s|a cat and a cat sat|No-error|No-error", "s|a cat and a <v>cat</v> sit|Style|Major")
    assert [(e.start, e.end, e.quote) for e in errors_of(twice)] == [(12, 15, "cat")]  # the nearest to the mark
    both = read_google_mqm(tsv("<v>s</v>|<v>t</v>|Style|Minor", "s|t|No-error|No-error"))
    assert ([e.side for e in both.rated[0].errors], both.dataset.segments[0].source) == (["output"], "s")
    assert both.warnings[0].got == "error spans in source and target"


def test_exact_duplicates_of_an_error_count_once_and_that_is_told() -> None:
    row, other = "s|a <v>b</v> b|Style|Minor", "s|a b <v>b</v>|Style|Minor"
    found = read_google_mqm(tsv(row, other, row, row))
    assert [(e.start, e.end) for r in found.rated for e in r.errors] == [(2, 3), (4, 5)]
    (warning,) = found.warnings
    assert (warning.got, "count" in warning.todo) == ("2 exact duplicates of errors", True)


def test_a_tag_of_the_text_stays_if_the_rows_agree() -> None:
    data = tsv("s|write <v>x</v> or <v>y</v>|No-error|No-error", "s|<v>write</v> <v>x</v> or <v>y</v>|Style|Minor")
    assert read_google_mqm(data).dataset.outputs[0].text == "write <v>x</v> or <v>y</v>"
    assert [e.quote for e in errors_of(data)] == ["write"]
    no_clean_row = tsv("s|the tag <v> <v>is</v> nice|Style|Minor", "s|the tag <v> is <v>nice</v>|Style|Major")
    assert read_google_mqm(no_clean_row).dataset.outputs[0].text == "the tag <v> is nice"
    assert [e.quote for e in errors_of(no_clean_row)] == ["is", "nice"]


def test_a_row_with_another_text_keeps_its_error_words() -> None:
    found = read_google_mqm(
        tsv("s|one two|No-error|No-error", "s| one <v>two</v>|Style|Major", "s|on <v>tow</v>|Style|Minor")
    )
    assert [(e.start, e.end, e.quote) for e in found.rated[0].errors] == [(4, 7, "two"), (0, 0, "")]
    assert [w.row for w in found.warnings if w.column == "target" and "differs" in w.got] == [3, 4]


def test_quotes_are_text_and_only_line_feeds_end_a_line() -> None:
    found = read_google_mqm(tsv('"s|he said "<v>no</v>\u2028\x0b\x85"|Style|Minor').replace(b"\n", b"\r\n"))
    assert found.dataset.segments[0].source == '"s'
    assert found.dataset.outputs[0].text == 'he said "no\u2028\x0b\x85"'


def test_gzip_bom_case_and_order_of_columns_do_not_matter() -> None:
    text = "\ufeffSeverity\tCategory\tTarget\tSource\tRater\tglobalSegId\tDoc\tSystem\nmajor\tStyle\t<v>t</v>\ts\tr\t7\td\tS\n"
    assert errors_of(gzip.compress(text.encode())) == [Span("output", 0, 1, "t", "Major", "Style")]


def test_rows_that_only_carry_texts_are_no_ratings() -> None:
    found = read_google_mqm((HEAD + "ref\td\t1\t7\t\ts\tt\t\t\n").encode())
    assert found.dataset.outputs == (Output("ref", "d", "7", "t"),)
    assert not found.rated


def test_what_cannot_be_read_is_a_table_of_problems() -> None:
    head = HEAD.encode()
    for data, row, column in (
        (b"", 0, ""), (head, 0, ""), (b"system\tdoc\n", 1, ""), (b"system\tdoc\trater\tsource\ttarget\n", 1, "seg_id"),
        (b"\xff\xfes\x00", 0, ""), (head + b"S\td\t1\n", 2, ""), (head + b"S\td\t1\t7\tr\ts\tt\tStyle\tMinor\tx\ty\n", 2, ""),
        (head.replace(b"doc_id", b"rater"), 1, "rater"), (b"\x1f\x8bnonsense", 0, ""),
    ):  # fmt: skip
        first = problems_of(read_google_mqm, data, "labels.tsv")[0]
        assert (first.file, first.row, first.column) == ("labels.tsv", row, column)
    with pytest.raises(ImportProblems, match="line 2, rater: found no rater"):
        read_google_mqm(head + b"S\td\t1\t7\t\ts\tt\tNo-error\tNo-error\n")


def test_ratings_of_one_rater_on_one_output_are_written_together() -> None:
    key = OutputKey("A", "d", "1")
    data = Dataset((Segment("d", "1", "eins"),), (Output("A", "d", "1", "one two"),))
    first, second = (Span("output", 0, end, "one two"[:end], "Minor", "Style") for end in (3, 7))
    apart = [RatedOutput(key, "r", (first,)), RatedOutput(key, "s", ()), RatedOutput(key, "r", (second,))]
    assert read_google_mqm(write_google_mqm(data, apart).encode()).rated == (
        RatedOutput(key, "r", (first, second)),
        RatedOutput(key, "s", ()),
    )


def test_ordinary_labels_are_written_as_google_writes_them_and_others_with_metadata() -> None:
    labels = [
        rating(
            Span("output", 3, 6, "old", "Minor", "Style/Awkward"),
            Span("source", 4, 9, "altes", "Major", "Accuracy/Omission", "gone"),
        ),
        rating(rater="q"),
    ]
    start = "S\td\t1\t7\t"
    assert write_google_mqm(dataset(), labels) == (
        "\t".join(COLUMNS) + "\n"
        f"{start}r\tein altes Haus\tan <v>old</v> house\tStyle/Awkward\tMinor\t\n"
        f"{start}r\tein <v>altes</v> Haus\tan old house\tAccuracy/Omission\tMajor\tgone\n"
        f"{start}q\tein altes Haus\tan old house\tNo-error\tNo-error\t\n"
    )
    written = write_google_mqm(dataset(text="a\tb"), [rating(Span("output", 0, 1, "a", "Minor", "Style"))])
    head, row = written.splitlines()
    assert head == "\t".join([*COLUMNS, "metadata"])
    assert row.split("\t")[6] == "<v>a</v> b"
    # a row edited by hand is read from its plain columns
    [error] = errors_of(written.replace("\tStyle\t", "\tOther\t").encode())
    assert error == Span("output", 0, 1, "a", "Minor", "Other")
    read = read_google_mqm(written.replace("<v>a</v> b", "a <v>b</v>").encode())
    assert read.dataset.outputs[0].text == "a b"
    assert (read.rated[0].errors[0].quote, read.warnings[0].column) == ("b", "metadata")


def test_a_difficult_text_survives_the_round_trip() -> None:
    for text in (
        "tab\there", "two\nlines\r", "a literal <v>tag</v> and </v> and <V>", "😀 bad 👩‍👩‍👧", "שלום עולם", '=HYPERLINK("x")',
        "<script>alert(1)</script>", "", "\u2028\x85\x0b\x1c", " blanks at the ends ",
    ):  # fmt: skip
        places = {(0, len(text)), (len(text) // 2, len(text)), (0, 0), (len(text), len(text))}
        spans = [Span("output", a, b, text[a:b], "Minor", "Other", text) for a, b in places]
        source = Span("source", 0, len(text), text, "Major", "Accuracy/Omission")
        labels, texts = (rating(*spans, source, rater=f"x{text}"), rating()), dataset(text, text)
        back = read_google_mqm(write_google_mqm(texts, labels).encode())
        assert (back.rated, back.warnings) == (labels, ())
        assert (back.dataset.outputs, back.dataset.segments) == (texts.outputs, texts.segments)


def test_metadata_that_cannot_be_stored_is_a_problem_and_that_is_not_ours_is_passed_over() -> None:
    for text in ("nul \0", "half a pair \ud83d"):
        label = rating(Span("output", 0, 1, text[:1], "Minor", "Other", text))
        with pytest.raises(ImportProblems, match="line 2, metadata: found a NUL or half a surrogate pair"):
            read_google_mqm(write_google_mqm(dataset(text, text), (label,)).encode())
    for kept in (
        '{"errorscope": 1}',
        '{"errorscope": {"cells": {"target": 5, "source": "x"}}}',
        "[]",
        "{",
        "[" * 100_000,
    ):
        row = f"S\td\t1\t7\tr\ts\t<v>t</v>\tStyle\tMinor\t{kept}\n"
        assert [e.quote for e in errors_of((HEAD.rstrip("\n") + "\tmetadata\n" + row).encode())] == ["t"]


def test_ted_zh_en_survives_the_round_trip() -> None:
    path = DATA / "mqm_ted_zhen.tsv.gz"
    if not path.exists():
        pytest.skip("mqm_ted_zhen.tsv.gz is not beside the repository")
    raw = path.read_bytes()
    found = read_google_mqm(raw, path.name)
    assert [w.row for w in found.warnings] == [9622]  # the one row without </v>
    written = write_google_mqm(found.dataset, found.rated)
    again = read_google_mqm(written.encode())
    assert (again.dataset, again.rated) == (found.dataset, found.rated)

    def kept(line: str) -> tuple[str, ...]:  # all but doc_id, the place in the document, and the empty comment
        cells = line.split("\t")
        return (*cells[:2], *cells[3:9])

    before = {kept(line) for line in gzip.decompress(raw).decode().split("\n") if line}
    after = {kept(line) for line in written.split("\n") if line}
    assert len(before ^ after) == 2  # the row that now has its </v>


def test_files_that_spreadsheets_and_pandas_saved_are_read_without_quotes() -> None:
    rows = [
        HEAD.strip().split("\t"),
        ["S", "d", "1", "7", "r", 'A "b"', '<v>C</v> "d"', "Style", "Minor"],
        ["T", "d", "1", "7", "r", 'A "b"', "e, f", "No-error", "No-error"],
    ]
    for delimiter, note in (("\t", "cells in quotes"), (",", ""), (";", "delimiter: semicolon")):
        held = io.StringIO()
        csv.writer(held, delimiter=delimiter, lineterminator="\r\n").writerows(rows)
        upload = Upload("labels.csv", held.getvalue().encode())
        assert guess(upload) == "google"
        got = read_google_mqm(upload.data, upload.name)
        assert [(o.system, o.text) for o in got.dataset.outputs] == [("S", 'C "d"'), ("T", "e, f")]
        assert (got.dataset.segments[0].source, got.rated[0].errors[0].quote) == ('A "b"', "C")
        assert note in " ".join(w.got for w in got.warnings)
        assert bool(got.warnings) == bool(note)
    kept = read_google_mqm(
        "".join("\t".join(row) + "\n" for row in rows).encode()
    )  # no writer of CSV leaves such cells
    assert ([o.text for o in kept.dataset.outputs], kept.warnings) == (['C "d"', "e, f"], ())


@pytest.mark.parametrize(
    ("data", "found", "todo"),
    [
        ("<?xml version='1.0'?>\n<results/>", "XML", "XML is not read"),
        ('[{"campaign_id": "c", "info": {}, "data": []}]', "the tasks of a Pearmut campaign", "annotations"),
        ('{"annotations": [], "item": [], "user_id": "u"}', "an early version of Pearmut", "as a table"),
        ('[{"documentID": "", "targetID": "", "itemID": 0, "targetText": ""}]', "texts of an Appraise campaign", "Campaigns"),
        ("u,sysA,12,TGT,eng,deu,78,1.1,2.2\n", "scores of Appraise in rows without a document", "rater,system,segment"),
        ('{"one": 1, "two": {"three": 3}}', "JSON with the keys “one”, “two”, “three”", "docs/formats.md"),
        ("user;time;clicks\n1;2;3\n", "the columns “user”, “time”, “clicks”", "docs/formats.md"),
        ("hello there\n", "the line “hello there”", "docs/formats.md"),
    ],
)  # fmt: skip
def test_a_file_of_another_kind_is_one_problem_that_names_it(data: str, found: str, todo: str) -> None:
    (problem,) = problems_of(read_google_mqm, data.encode(), "file.csv")
    assert found in problem.got
    assert todo in problem.todo
