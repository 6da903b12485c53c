"""Marot's TSV, by the facts of its README: ten columns, `<v>`, token spans inclusive, `no-error`, rows that only carry texts."""

import json

from core.data import Dataset, Output, Segment, Span
from core.formats.files import Upload
from core.formats.labels.label_file import LabelFile, Severities, totals_of
from core.formats.labels.marot import COLUMNS, read_marot, write_marot
from tests.core.formats.label_cases import KEY, SEVERITIES, dataset, rating
from tests.core.formats.problems import problems_of

HEAD = "\t".join(COLUMNS) + "\n"


def found(*rows: str, head: str = HEAD) -> LabelFile:
    """Rows given as "system|docSegId|rater|source|target|category|severity|metadata", of document d, globalSegId 0."""
    lines = []
    for row in rows:
        system, segment, *rest = row.split("|")
        lines.append("\t".join([system, "d", segment, "0", *rest]) + "\n")
    return read_marot(Upload("marot.tsv", (head + "".join(lines)).encode()), SEVERITIES)


def test_doc_seg_id_names_segments_if_global_id_is_constant() -> None:
    got = found("S|1|r|eins|<v>one</v>|Style|Minor|{}", "S|2|r|zwei|two|no-error|no-error|{}")
    assert got.dataset.segments == (Segment("d", "1", "eins"), Segment("d", "2", "zwei"))
    assert [len(r.errors) for r in got.rated] == [1, 0]


def test_a_header_is_optional_and_may_be_in_the_middle() -> None:
    row = "S|1|r|s|<v>t</v>|Style|major|{}"
    assert found(row, head="").rated == found(row).rated
    joined = "S\td\t1\t0\tr\ts\t<v>t</v>\tStyle\tmajor\t{}\n" + HEAD
    assert read_marot(Upload("m", joined.encode()), SEVERITIES).rated == found(row).rated
    assert found(row).rated[0].errors == (Span("output", 0, 1, "t", "Major", "Style"),)
    text = "system\tdocument\t1\t0\tr\ts\t<v>t</v>\tStyle\tmajor\t{}\n"  # a row, and no header
    assert read_marot(Upload("m", text.encode()), SEVERITIES).dataset.systems == ("system",)


def test_the_note_is_read_from_new_and_old_metadata() -> None:
    got = found('S|1|r|s|<v>t</v>|Other|Minor|{"note": "why\\tso"}', "S|1|q|s|<v>t</v>|Other|Minor|plain words")
    assert [e.note for r in got.rated for e in r.errors] == ["why\tso", "plain words"]


def test_token_indices_give_the_span_both_ends_included() -> None:
    tokens = {"target_tokens": ["a", " ", "red", " ", "cat"], "source_tokens": ["rot", "e"]}
    target = json.dumps({"target_spans": [[2, 4]], "segment": tokens})
    source = json.dumps({"source_spans": [[1, 1]], "segment": tokens})
    got = found(f"S|1|r|rote|a red cat|Style|Minor|{target}", f"S|1|q|rote|a red cat|Accuracy/Omission|Minor|{source}")
    assert [e for r in got.rated for e in r.errors] == [
        Span("output", 2, 9, "red cat", "Minor", "Style"),
        Span("source", 3, 4, "e", "Minor", "Accuracy/Omission"),
    ]
    assert not got.warnings


def test_invalid_token_indices_are_ignored_and_the_error_kept() -> None:
    for spans in ("[[2, 9]]", "[[4, 2]]", "7", '[["a", "b"]]', "[[-1, 1]]"):
        tokens = '{"target_spans": ' + spans + ', "segment": {"target_tokens": ["a", " ", "b"]}}'
        got = found(f"S|1|r|s|a b|Style|Minor|{tokens}")
        assert [(e.start, e.end) for e in got.rated[0].errors] == [(0, 0)]
        assert "without a span" in got.warnings[0].got


def test_rows_without_a_rater_carry_texts_and_references_only() -> None:
    segment = '{"segment": {"references": {"ref_A": "the cat"}, "metrics": {"BLEURT": 0.4}}}'
    got = found(f"S|1|||s|t|||{segment}".replace("|||s", "||s", 1))
    assert got.rated == ()
    assert got.dataset.segments == (Segment("d", "1", "s", ("the cat",)),)


def test_only_a_non_translation_needs_no_severity_and_rows_have_ten_cells() -> None:
    assert found("S|1|r|s|<v>t</v>|Non-translation!||{}").rated[0].errors[0].severity == "Major"
    assert problems_of(found, "S|1|r|s|<v>t</v>|Style|Critical|{}")[0].got == "“Critical”"
    first = problems_of(read_marot, Upload("m.tsv", (HEAD + "a\tb\n").encode()), SEVERITIES)[0]
    assert first[:4] == ("m.tsv", 2, "", "2 cells")


def test_attention_checks_are_neither_errors_nor_ratings() -> None:
    got = found(
        'S|1|r|s|a red cat|Found|HOTW-test|{"hotw_error": "cat red"}', "S|1|r|s|a <v>red</v> cat|Style|Major|{}",
        "T|1|r|s|t|Missed|hotw-test|{}", "T|1|r|s|t|no-error|no-error|{}", "U|1|r|s|t|Missed|HOTW-test|{}",
    )  # fmt: skip
    assert [(r.key.system, [e.quote for e in r.errors]) for r in got.rated] == [("S", ["red"]), ("T", [])]
    assert got.dataset.systems == ("S", "T", "U")
    assert [(w.row, w.got) for w in got.warnings] == [(2, "3 attention checks (HOTW-test)")]
    assert "1 output of a rater without other rows" in got.warnings[0].todo


def test_what_is_written_is_what_marot_reads() -> None:
    data = Dataset(
        (Segment("d", "7", "ein altes Haus", ("an old house",)),),
        (Output(*KEY, "an old home"), Output("T", "d", "7", "home")),
    )
    labels = [rating(Span("output", 3, 6, "old", "Minor", "Style/Awkward", "hm")), rating(rater="q")]
    assert write_marot(data, labels, totals_of(data)).texts[0].split("\n") == [
        "system\tdoc\tdocSegId\tglobalSegId\trater\tsource\ttarget\tcategory\tseverity\tmetadata",
        "S\td\t7\t1\tr\tein altes Haus\tan <v>old</v> home\tStyle/Awkward\tMinor\t"
        '{"note": "hm", "marked_text": "old", '
        '"segment": {"reference_tokens": {"ref1": ["an old house"]}, "primary_reference": "ref1"}}',
        "S\td\t7\t1\tq\tein altes Haus\tan old home\tno-error\tno-error\t{}",
        "T\td\t7\t1\t\tein altes Haus\thome\t\t\t{}",
        "",
    ]


def test_texts_with_tabs_and_tags_are_exact_in_metadata() -> None:
    data, label = dataset(text="<v>\tx"), rating(Span("output", 3, 5, "\tx", "Minor", "Style"))
    (text,) = write_marot(data, [label], totals_of(data)).texts
    assert text.splitlines()[1].split("\t")[6] == "<v><v> x</v>"
    back = read_marot(Upload("m", text.encode()), Severities())
    assert (back.dataset.outputs, back.rated) == (data.outputs, (label,))


def test_scores_of_metrics_and_corrected_translations_are_said_to_be_left_out() -> None:
    more = json.dumps({"corrected_translation": "x", "segment": {"metrics": {"Bleurt-X": 0.5, "MQM": 1}}})
    got = found(f"S|1|r|s|<v>t</v>|Style|Minor|{more}", "S|2|r|s|t|no-error|no-error|{}")
    assert [w.got for w in got.warnings] == [
        "score of the metric “Bleurt-X”, 1 time", "score of the metric “MQM”, 1 time", "corrected translation, 1 time",
    ]  # fmt: skip
