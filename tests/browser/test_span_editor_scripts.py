"""The scripts of the span editor that need no server: the fold of the log, and offsets."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from core.mqm.log import fold_segment
from core.ports.labels import Action, Event
from tests.browser.conftest import ROOT
from tests.browser.span_editor import HERE

SCRIPTS = ROOT / "pages" / "_ui" / "components" / "span_annotator"


KINDS = ("score", "prefer", "decline", "undo", "redo")
"""The kinds of which versions are compared: an edit of an output, edits of the segment, and steps."""


def in_browser(page: Page, script: str, expression: str, argument: Any) -> Any:
    source = (SCRIPTS / script).read_text(encoding="utf-8")
    return page.evaluate(f"argument => {{ {source}\n return {expression}; }}", argument)


def random_log(seed: int) -> list[dict[str, Any]]:
    """A log as a server would accept it: adds make new marks, changes and deletions may come too late (both sides ignore them)."""
    rng = random.Random(seed)
    log: list[dict[str, Any]] = []
    kinds = ["add"] * 4 + ["change", "delete", "verdict", "undo", "undo", "redo", "submit", "reopen"]
    kinds += ["score", "score", "prefer", "decline"]
    for number in range(40):
        kind = rng.choice(kinds)
        span = {
            "side": "output",
            "start": number,
            "end": number + 1,
            "quote": "x",
            "severity": "Minor",
            "category": "Other",
        }
        mark = f"m{number if kind == 'add' else rng.randrange(number + 1)}"
        payload: dict[str, Any] = {}
        if kind in ("add", "change"):
            payload = {"mark": mark, **span, "note": f"note {number}"}
        elif kind == "delete":
            payload = {"mark": mark}
        elif kind == "verdict":
            payload = {"value": rng.choice(["no_error", "non_translation", None])}
        elif kind == "score":
            payload = {"value": rng.choice([0, 66, 100, None])}
        elif kind == "prefer":
            payload = rng.choice([{}, {"winner": "a"}, {"winner": "b"}, {"winner": None}])
        elif kind == "submit" and rng.random() < 0.5:
            shown = rng.choice(["a", "b", "ab"])
            payload = {"outputs": list(shown), "systems": list(shown)}
        elif kind == "decline":
            payload = {"reason": rng.choice(["", "A text is in the wrong language"])}
        output = rng.choice("ab") if kind in ("add", "change", "delete", "verdict", "score") else None
        log.append({"id": str(number), "kind": kind, "output": output, "payload": payload})
    return log


def test_the_browser_folds_the_log_as_the_server_does(page: Page) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    for seed in range(60):
        log = random_log(seed)
        ours = fold_segment(
            Event(i, start + timedelta(seconds=i), "r", HERE, Action(a["id"], a["kind"], a["output"], a["payload"]))
            for i, a in enumerate(log)
        )
        theirs = in_browser(
            page,
            "log.js",
            "(f => ({ outputs: Object.fromEntries(f.outputs), submitted: f.submitted, drafts: [...f.drafts].filter(Boolean).sort(), preference: f.preference, declined: f.declined, versions: ['score', 'prefer', 'decline', 'undo', 'redo'].map(k => versionFor(f, k, k === 'score' ? 'a' : null)) }))(fold(argument))",
            log,
        )
        expected = {
            name: {
                "verdict": labels.verdict,
                "score": labels.score,
                "marks": [
                    {
                        "id": m.id, "side": m.span.side, "start": m.span.start, "end": m.span.end, "quote": m.span.quote,
                        "severity": m.span.severity, "category": m.span.category, "note": m.span.note,
                    }
                    for m in labels.marks
                ],
            }
            for name, labels in ours.outputs.items()
        }  # fmt: skip
        assert theirs == {
            "outputs": expected,
            "submitted": ours.submitted,
            "drafts": sorted(ours.drafts),
            "preference": list(ours.preference),
            "declined": ours.declined,
            "versions": [ours.version(kind, "a" if kind == "score" else None) for kind in KINDS],
        }, json.dumps(log)


def test_offsets_are_code_points_and_come_back(page: Page) -> None:
    for raw in ("", "plain", "😀 bad", "a👨‍👩‍👧b", "e\u0301te\u0301", "שלום 🇩🇪!", "x\u2028y\r\n z"):
        # the browser counts UTF-16 units: one for each code point, two beyond U+FFFF
        units = [sum(1 + (ord(c) > 0xFFFF) for c in raw[:i]) for i in range(len(raw) + 1)]
        script = "(t => argument[1].map(u => [t.points(u), t.units(t.points(u))]))(readText(argument[0]))"
        assert in_browser(page, "text.js", script, [raw, units]) == [[i, u] for i, u in enumerate(units)], raw
        stops = in_browser(page, "text.js", "readText(argument).stops", raw)
        assert set(stops) <= set(units), raw


def test_styles_and_scripts_name_no_other_server() -> None:
    for path in Path(SCRIPTS).glob("*.[jc]s*"):
        assert "http" not in path.read_text(encoding="utf-8"), path.name


SENTENCES = [
    ("We saw Anna. It rained all day.", "Wir sahen Anna.", 3, None),  # the output may omit the second sentence
    ("We saw Anna. It rained all day.", "Wir sahen Anna. Es regnete.", 20, "position"),
    ("We saw Anna. It rained in Uppsala all day.", "Wir sahen. Es regnete in Uppsala.", 5, "position"),
    ("We saw Anna. It rained in Uppsala all day.", "Wir sahen. In Uppsala fiel Regen.", 20, "words"),
    ("They met. " * 9 + "It rained in Uppsala.", "Rain fell in Uppsala.", 3, "words"),  # a summary
    ("We saw Anna.", "Wir sahen Anna. Es regnete.", 3, None),
]


def test_the_sentence_of_the_source_that_is_marked(page: Page) -> None:
    scripts = "".join((SCRIPTS / name).read_text(encoding="utf-8") for name in ("text.js", "align.js"))
    call = "aligned(readSentences(source), readSentences(output), at)?.by ?? null"
    for source, output, at, by in SENTENCES:
        found = page.evaluate(f"([source, output, at]) => {{ {scripts}\n return {call}; }}", [source, output, at])
        assert found == by, (source, output)
