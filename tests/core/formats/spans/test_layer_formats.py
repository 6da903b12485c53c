"""Files of error spans: what each format says, what is left out and why, and that what is written reads back."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from core.data import Dataset, Output, OutputKey, Segment, Span
from core.errors import ImportProblems, UserError
from core.formats.files import Upload
from core.formats.spans.layer_formats import FORMATS, Unreadable, guess, read_reply
from core.spans.layers import LayerSpan, SpanLayer

TEXTS = Dataset(
    (Segment("d", "1", "Das Haus ist sehr alt."), Segment("d", "2", "Guten Tag 👩‍🚀!")),
    (
        Output("A", "d", "1", "The house is is old."), Output("B", "d", "1", " The mouse is old."),
        Output("A", "d", "2", "Good day 👩‍🚀!"), Output("B", "d", "2", "Good day 👩‍🚀!"),
    ),
)  # fmt: skip
A1, B1, A2, B2 = (o.key for o in TEXTS.outputs)
MOUSE = Span("output", 5, 10, "mouse", "Major", "Unspecified")


def upload(*records: Any, name: str = "x.jsonl") -> Upload:
    return Upload(name, "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records).encode())


def test_xcomet_as_it_is_written() -> None:
    """An object with a list per file; COMET strips the texts, and offsets may include a space (issue 179)."""
    whole = {
        "out/B.txt": [
            {"src": "Das Haus ist sehr alt.", "mt": "The mouse is old.", "COMET": 0.5, "errors": [
                {"text": "mouse", "confidence": 0.75, "severity": "critical", "start": 3, "end": 9},
                {"text": "is", "confidence": 0.5, "severity": "minor", "start": 10, "end": 12},
                {"text": "was", "confidence": 0.5, "severity": "minor", "start": 10, "end": 12},
                {"text": "x", "confidence": 0.5, "severity": "minor", "start": 90, "end": 92},
                {"text": "is", "confidence": 0.5, "severity": "odd", "start": 10, "end": 12},
            ]},
            {"src": "Guten Tag 👩‍🚀!", "mt": "Good day 👩‍🚀!", "errors": []},
            {"src": "Nichts.", "mt": "Nothing.", "errors": []},
        ]
    }  # fmt: skip
    file = Upload("x.json", json.dumps(whole, indent=4, ensure_ascii=False).encode())
    assert guess(file) == "xcomet"
    read = FORMATS["xcomet"].read(file, TEXTS)
    assert read.spans == {
        B1: (LayerSpan(MOUSE, 0.75), LayerSpan(Span("output", 11, 13, "is", "Minor", "Unspecified"), 0.5)), B2: (),
    }  # fmt: skip
    assert read.reasons == {"offsets and quoted text differ": 1, "offsets outside the text": 1, "severity unknown: odd": 1, "the project does not have the output": 1}  # fmt: skip
    assert read.notes == {"critical errors, read as Major": 1}
    assert read.left_out[-1].output == "B / “Nothing.”"
    both = FORMATS["xcomet"].read(upload({"mt": "Good day 👩‍🚀!", "errors": []}), TEXTS)
    assert (both.spans, both.notes) == ({A2: (), B2: ()}, {"several outputs with the same texts": 1})


GEMBA = """Critical:
no-error
Major:
accuracy/mistranslation - "mouse"
accuracy/omission - "sehr"
Minor:
fluency/grammar - "is"
"""


def test_gemba_replies_and_what_must_not_become_a_score() -> None:
    def record(key: OutputKey, reply: str) -> dict[str, str]:
        return {**key._asdict(), "reply": reply}

    file = upload(record(B1, GEMBA), record(A1, GEMBA), record(A2, "Critical:\nno-error\n**Major:** no-error\nMinor errors: No error."), record(B2, "I cannot judge this."))  # fmt: skip
    assert guess(file) == "gemba"
    read = FORMATS["gemba"].read(file, TEXTS)
    omission = Span("source", 13, 17, "sehr", "Major", "Accuracy/Omission")
    assert read.spans == {
        B1: (LayerSpan(Span("output", 5, 10, "mouse", "Major", "Accuracy/Mistranslation")), LayerSpan(omission), LayerSpan(Span("output", 11, 13, "is", "Minor", "Fluency/Grammar"))),
        A1: (LayerSpan(omission),), A2: (),
    }  # fmt: skip
    # in A1, "is" has two places, and "mouse" is not there: .8 similar to "house"
    assert read.reasons == {"quote not found": 1, "quote found in several places": 1, "unreadable reply": 1}
    for bad in (
        "", "no-error", "Major:\nno-error", "Major:\nno-error\nMinor:\n", "Sure! Here are the errors:\nMajor:\nno-error\nMinor:\nno-error",
        "Major:\nThe text is fine.\nMinor:\nno-error", 'Major:\nno-error\nstyle - "x"\nMinor:\nno-error', "Major:\nno-error\nMajor:\nno-error\nMinor:\nno-error",
        'Major:\naccuracy/mistranslation - "cut off', "Major:\nno-error\nMinor:\nno-error\nI hope this helps.",
    ):  # fmt: skip
        with pytest.raises(Unreadable):
            read_reply(bad)
    [quote] = read_reply(
        'Critical:\nno-error\nMajor:\n- accuracy/addition - "says "no error" İ - twice"\nMinor:\nno-error'
    )
    assert (quote.text, quote.severity, quote.category) == ('says "no error" İ - twice', "major", "Accuracy/Addition")


def test_gemspaneval_quotes_get_places_by_their_contexts() -> None:
    error = {"span": "is", "span_with_context": "house is", "severity": "minor", "category": "fluency/grammar", "is_source_error": False}  # fmt: skip
    read = FORMATS["gemspaneval"].read(upload({**A1._asdict(), "errors": [error]}, {**B1._asdict(), "reply": json.dumps([error])}, {**A2._asdict(), "reply": "[]"}, {**B2._asdict(), "reply": "none"}), TEXTS)  # fmt: skip
    assert read.spans == {A1: (LayerSpan(Span("output", 10, 12, "is", "Minor", "Fluency/Grammar")),), B1: (LayerSpan(Span("output", 11, 13, "is", "Minor", "Fluency/Grammar")),), A2: ()}  # fmt: skip
    assert read.reasons == {"unreadable reply": 1}
    for reply in (
        '[{"severity": "minor"}]',
        '["is"]',
        "[",
        '[{"span": "is", "severity": "minor", "confidence": NaN}]',
        '{"errors": []}',
    ):
        some = FORMATS["gemspaneval"].read(
            upload({**A1._asdict(), "errors": []}, {**B1._asdict(), "reply": reply}), TEXTS
        )
        assert (some.spans, some.reasons) == ({A1: ()}, {"unreadable reply": 1}), reply


def test_written_layers_read_back() -> None:
    astronaut = Span("output", 9, 12, "👩‍🚀", "Minor", "Fluency/Punctuation", "not in “it”")
    second = Span("output", 13, 15, "is", "Major", "Fluency/Grammar")
    omission = Span("source", 13, 17, "sehr", "Major", "Accuracy/Omission")
    full = {A1: (LayerSpan(second, 0.1 + 0.2), LayerSpan(omission)), A2: (), B2: (LayerSpan(astronaut, 1.0),)}
    without_source = full | {A1: full[A1][:1]}
    plain = {key: tuple(LayerSpan(Span("output", e.start, e.end, e.quote, e.severity, "Unspecified")) for e, _ in of) for key, of in without_source.items()}  # fmt: skip
    kept: dict[str, tuple[int, dict[OutputKey, tuple[LayerSpan, ...]]]] = {
        "jsonl": (0, full), "xcomet": (1, without_source), "gemspaneval": (0, full), "wmt25": (3, plain),
    }  # fmt: skip
    for name, (lost, expected) in kept.items():
        write = FORMATS[name].write
        assert write is not None
        written = write(SpanLayer("file:x", "x", "file", without_source if name == "wmt25" else full), TEXTS)
        assert len(written.lost) == lost, (name, written.lost)
        file = Upload(f"x.{FORMATS[name].ending}", written.texts[0].encode())
        assert guess(file) == name
        read = FORMATS[name].read(file, TEXTS)
        assert read.spans == expected, name
        assert read.reasons == {}


def test_bad_files_are_refused_with_one_clear_message() -> None:
    ours: Callable[..., Any] = FORMATS["jsonl"].read
    good = {**A1._asdict(), "spans": []}
    span = {"side": "output", "start": 0, "end": 3, "severity": "minor"}
    cases: list[tuple[Upload, str]] = [
        (Upload("x", b'{"system": "A", '), "JSON"), (upload(good, {"spans": []}), "system and segment_id"),
        (upload({**A1._asdict(), "spans": "none"}), "a list"), (upload({**A1._asdict(), "spans": [span | {"confidence": 2}]}), "from 0 to 1"),
        (upload({**A1._asdict(), "spans": [span | {"start": "x"}]}), "whole number"), (upload({**A1._asdict(), "spans": [span | {"side": "left"}]}), "output or source"),
        (upload(good, {**A1._asdict(), "spans": [span]}), "one record per output"), (upload({"system": "Z", "segment_id": "1", "spans": []}), "does not have the output"),
        (Upload("x", b""), "empty file"), (upload({**A1._asdict(), "mt": "Another text.", "spans": []}), "differs from the project"),
    ]  # fmt: skip
    for file, message in cases:
        with pytest.raises((ImportProblems, UserError)) as caught:
            ours(file, TEXTS)
        error = caught.value
        said = "; ".join(p.sentence() for p in error.problems) if isinstance(error, ImportProblems) else str(error)
        assert message in said, (message, said)
    for unknown in (Upload("x", b"a,b\n1,2\n"), Upload("x", b"{}")):
        with pytest.raises(UserError, match="not recognised"):
            guess(unknown)
