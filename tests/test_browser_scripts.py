"""The scripts of the browser: their own tests (`tests/scripts`, in Node), and what the server makes of the same values."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from core.browser_scripts import imports_of, scripts
from core.data import SegmentKey
from core.mqm.log import fold_segment
from core.ports.labels import Action, Event
from tests.paths import ROOT

HERE = SegmentKey("news", "1")
KINDS = ("score", "prefer", "decline", "undo", "redo")
"""The kinds of which versions are compared: an edit of an output, edits of the segment, and steps."""
SUGGESTED = ("s1", "s2", "s3")
"""The ids of suggestions, the same for both outputs."""
TEXTS = ("", "plain", "😀 bad", "a👨‍👩‍👧b", "e\u0301te\u0301", "שלום 🇩🇪!", "x\u2028y\r\n z")


def random_log(seed: int) -> list[dict[str, Any]]:
    """A log as a server would accept it: adds make new marks, changes and deletions may come too late (both sides ignore them)."""
    rng = random.Random(seed)
    log: list[dict[str, Any]] = []
    kinds = ["add"] * 4 + [
        "reject",
        "reject",
        "change",
        "delete",
        "verdict",
        "undo",
        "undo",
        "redo",
        "submit",
        "reopen",
    ]
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
            if kind == "add" and rng.random() < 0.5:
                payload["suggestion"] = rng.choice(SUGGESTED)
        elif kind == "reject":
            payload = {"suggestion": rng.choice(SUGGESTED)}
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
        output = rng.choice("ab") if kind in ("add", "change", "delete", "reject", "verdict", "score") else None
        log.append({"id": str(number), "kind": kind, "output": output, "payload": payload})
    return log


def folded(log: list[dict[str, Any]]) -> dict[str, Any]:
    """The labels that the server makes of a log."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    span = {"side": "output", "start": 0, "end": 1, "quote": "x", "severity": "Minor", "category": "Other"}
    shown = [{"id": name, **span} for name in SUGGESTED]
    opened = {"order": ["a", "b"], "arm": "suggested", "probability": 0.75, "suggestions": {"a": shown, "b": shown}}
    actions = [Action("open", "open", None, opened)]
    actions += [Action(a["id"], a["kind"], a["output"], a["payload"]) for a in log]
    labels = fold_segment(Event(i, start + timedelta(seconds=i), "r", HERE, a) for i, a in enumerate(actions))
    outputs = {
        name: {
            "verdict": of.verdict,
            "score": of.score,
            "decided": list(of.decided),
            "marks": [
                {
                    "id": m.id, "side": m.span.side, "start": m.span.start, "end": m.span.end, "quote": m.span.quote,
                    "severity": m.span.severity, "category": m.span.category, "note": m.span.note,
                }
                | ({"suggestion": m.suggestion} if m.suggestion else {})
                for m in of.marks
            ],
        }
        for name, of in labels.outputs.items()
    }  # fmt: skip
    return {
        "outputs": outputs,
        "submitted": labels.submitted,
        "drafts": sorted(labels.drafts),
        "preference": list(labels.preference),
        "declined": labels.declined,
        "undecided": [[s.id for s in labels.undecided(system)] for system in "ab"],
        "versions": [labels.version(kind, "a" if kind == "score" else None) for kind in KINDS],
    }


def units(raw: str) -> list[int]:
    """Where each code point begins for the browser, which counts UTF-16 units: two for those beyond U+FFFF."""
    return [sum(1 + (ord(c) > 0xFFFF) for c in raw[:i]) for i in range(len(raw) + 1)]


@pytest.mark.skipif(not shutil.which("node") and not os.environ.get("CI"), reason="no Node on this machine")
def test_the_scripts_do_what_they_do_in_the_server_and_on_their_own() -> None:
    logs = [random_log(seed) for seed in range(60)]
    expected = {
        "logs": [{"log": log, "folded": folded(log)} for log in logs],
        "suggested": SUGGESTED,
        "texts": [{"raw": raw, "units": units(raw)} for raw in TEXTS],
    }
    command = ["node", str(ROOT / "tests" / "scripts" / "all.mjs")]
    run = subprocess.run(command, input=json.dumps(expected), capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]


def test_scripts_import_scripts_and_styles_and_scripts_name_no_server() -> None:
    for path, text in scripts().items():
        assert set(imports_of(path)) <= scripts().keys(), path
        assert "http" not in text.replace("http://www.w3.org/2000/svg", ""), path
    for path in (ROOT / "pages" / "_ui" / "components").rglob("*.css"):
        assert "http" not in path.read_text(encoding="utf-8"), path
