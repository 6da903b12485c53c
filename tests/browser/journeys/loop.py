"""The main job, step by step: upload, score, compare, annotate, calibrate, export, import again."""

from __future__ import annotations

import csv
import io
import os
import re
import subprocess
import sys

from playwright.sync_api import Download, Page, expect

from core.data import OutputKey, SegmentKey
from core.formats.labels.google_mqm import read_google_mqm
from core.mqm.log import fold
from core.ports.labels import SegmentLabels
from tests.browser.conftest import Server, at_rest, settled
from tests.browser.span_editor import category, drag, saved
from tests.paths import ROOT

NAME = "loop"
HTML = "Prices <b>rose</b> sharply in May. 😀"
FORMULA = "=SUM(A1) is what the house said."
ROWS = [
    ("A", "1", "أسعار المنازل ارتفعت في مايو.", "House prices rose in May.", HTML),
    ("B", "1", "أسعار المنازل ارتفعت في مايو.", "House prices rose in May.", "House prices rose in May."),
    ("A", "2", "Der Rat lehnte den Plan ab.", "The council rejected the plan.", "The council accepted the plan."),
    ("B", "2", "Der Rat lehnte den Plan ab.", "The council rejected the plan.", "The council rejected this plan."),
    ("A", "3", "Das sagte das Haus.", "That is what the house said.", FORMULA),
    ("B", "3", "Das sagte das Haus.", "That is what the house said.", "That is what the house said."),
]
MARKS = {
    "sharply": ("A", "1", "2", "addition", "Minor", "Accuracy/Addition"),
    "accepted": ("A", "2", "1", "mistr", "Major", "Accuracy/Mistranslation"),
    "this": ("B", "2", "2", "gram", "Minor", "Fluency/Grammar"),
    "SUM": ("A", "3", "1", "addition", "Major", "Accuracy/Addition"),
}


def upload_outputs(page: Page, server: Server) -> None:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["system", "doc_id", "segment_id", "source", "reference", "output"])
    writer.writerows((system, "d", segment, source, ref, output) for system, segment, source, ref, output in ROWS)
    _upload(page, server, f"{NAME}.csv", text.getvalue().encode(), "Upload outputs")
    data = server.store().projects.dataset(server.project(NAME))
    assert [(o.system, o.segment_id, o.text) for o in data.outputs] == [(r[0], r[1], r[4]) for r in ROWS]


def score(page: Page, server: Server) -> None:
    """Start a worker as the page asks for, and wait until the page shows the scores."""
    store, project = server.store(), server.project(NAME)
    page.goto(f"{server.url}/compare?project={project}")
    page.get_by_role("button", name=re.compile("Compute scores \\(")).click()
    expect(page.get_by_text("Start one with errorscope workers")).to_be_visible()
    environ = {**os.environ, "ERRORSCOPE_HOME": str(server.home), **server.environ}
    subprocess.run([sys.executable, "-m", "cli", "workers", "--once"], cwd=ROOT, env=environ, check=True)
    expect(page.locator(".esc-card .esc-score").first).to_have_text(re.compile("[0-9]"))
    scored = {s.metric: s for s in store.scores.signatures(project)}
    assert {"chrf", "bleu", "ter", "rouge1", "rouge2", "rougeL", "bartscore", "bartscore++"} <= set(scored)
    table = dict(store.scores.column(project, scored["bartscore++"].signature))
    assert len(table) == len(ROWS)
    assert all(value.status == "ok" for value in table.values())


def compare(page: Page, server: Server) -> None:
    """The cards show text as text; keys move on; the address names the place; the file is complete."""
    expect(page.locator(".esc-card")).to_have_count(2)
    expect(page.locator(".esc-card", has_text="<b>rose</b> sharply")).to_be_visible()
    assert page.locator(".esc-card b", has_text="rose").count() == 0
    at_rest(page)
    page.locator(".esc-nav").click()
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile("segment=2"))
    expect(page.locator(".esc-card", has_text="accepted")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="Scores as CSV").click()
    assert {(r["system"], r["segment_id"]) for r in _rows(download.value)} == {(r[0], r[1]) for r in ROWS}


def annotate(page: Page, server: Server) -> None:
    """Three segments: marks, a no-error verdict for the rest, submitted; the log holds exactly that."""
    page.goto(f"{server.url}/annotate?project={server.project(NAME)}&doc=d&segment=1")
    page.get_by_label("Name", exact=True).fill("Ann")
    page.get_by_role("button", name="Start").click()
    for segment in ("1", "2", "3"):
        expect(page).to_have_url(re.compile(f"segment={segment}"))
        expect(page.locator(".esa-text")).to_have_count(3)
        for quote, (_, of, severity, typed, _, _) in MARKS.items():
            if of == segment:
                expect(page.locator(".esa-text", has_text=quote)).to_be_visible()
                drag(page, quote, quote)
                page.keyboard.press(severity)
                category(page, typed)
        marked = {m[0] for m in MARKS.values() if m[1] == segment}
        for system in {"A", "B"} - marked:
            text = next(r[4] for r in ROWS if r[:2] == (system, segment))
            page.locator(".esa-output", has_text=text).get_by_role("button", name="No error").click()
        saved(page)
        page.get_by_role("button", name=re.compile("^Submit")).click()
        expect(page.get_by_text(f"{segment} of 3 segments submitted")).to_be_visible()
        if segment != "3":
            page.keyboard.press("Enter")  # to the next one that is not submitted
    found = {
        (system, at.segment_id, m.span.quote): (m.span.severity, m.span.category)
        for (_, at), of in _labels(server, NAME).items()
        for system, o in of.outputs.items()
        for m in o.marks
    }
    assert found == {(s, seg, quote): (sev, cat) for quote, (s, seg, _, _, sev, cat) in MARKS.items()}
    spans = [m.span for of in _labels(server, NAME).values() for o in of.outputs.values() for m in o.marks]
    texts = {r[4] for r in ROWS}
    assert all(any(t[s.start : s.end] == s.quote for t in texts) for s in spans)


def calibrate(page: Page, server: Server) -> None:
    """λ is fitted, warned about, saved under a name and used on Compare."""
    page.goto(f"{server.url}/calibrate?project={server.project(NAME)}")
    expect(page.get_by_text("agrees best with 1 annotator on 6 outputs")).to_be_visible()
    expect(page.get_by_text("The project has 6 outputs; 100 or more are recommended")).to_be_visible()
    page.get_by_label("Name for this λ").fill("loop λ")
    page.get_by_role("button", name="Save and use on Compare").click()
    expect(page).to_have_url(re.compile("/compare.*lambda="))
    (kept,) = server.store().calibrations.list(server.project(NAME))
    assert kept.name == "loop λ"
    assert kept.result["n"] == 6
    assert f"lambda={kept.value:.6g}" in page.url or "lambda=inf" in page.url
    expect(page.locator(".esc-lambda output")).to_contain_text(f"{kept.value:.2f}"[:3])


def export(page: Page, server: Server) -> None:
    """The labels leave as CSV and as Google's TSV; the TSV comes back as the same labels."""
    rows = exported(page, server, server.project(NAME))
    assert {(r["system"], r["segment_id"], r["quote"], r["severity"]) for r in rows if r["quote"]} == {
        (s, seg, quote, sev) for quote, (s, seg, _, _, sev, _) in MARKS.items()
    }
    assert sum(r["verdict"] == "no_error" for r in rows) == 2
    page.get_by_label("Format").last.click()
    page.get_by_role("option", name=re.compile("Google MQM TSV")).click()
    expect(page.get_by_text("Format of the WMT releases")).to_be_visible()
    with page.expect_download() as download:
        page.locator("[class*=st-key-export-google]").get_by_role("button", name=re.compile("Download")).click()
    assert download.value.suggested_filename == f"{NAME}.mqm.tsv"
    tsv = download.value.path().read_bytes()
    back = {
        r.key: {(e.quote, e.severity) for e in r.errors if e.category.lower() != "no-error"}
        for r in read_google_mqm(tsv, "x.tsv").rated
    }
    assert back[OutputKey("A", "d", "1")] == {("sharply", "Minor")}
    _upload(page, server, "again.tsv", tsv, "Import labels")
    first, second = (
        {
            (k, s): (o.verdict, {m.span for m in o.marks})
            for k, of in _labels(server, name).items()
            for s, o in of.outputs.items()
        }
        for name in (NAME, "again")
    )
    assert first == second


def exported(page: Page, server: Server, project: int) -> list[dict[str, str]]:
    """Download the labels of a project as CSV on Projects, and return its rows."""
    page.goto(f"{server.url}/?project={project}")
    page.get_by_role("button", name=re.compile("Export")).first.click()
    with page.expect_download() as download:
        page.get_by_role("button", name=re.compile("Download")).click()
    return _rows(download.value)


def _rows(download: Download) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(download.path().read_text(encoding="utf-8-sig"))))


def _labels(server: Server, project: str) -> dict[tuple[str, SegmentKey], SegmentLabels]:
    return fold(server.store().labels.events(server.project(project)))


def _upload(page: Page, server: Server, name: str, data: bytes, begin: str) -> None:
    page.goto(server.url)
    page.get_by_role("button", name=begin).first.click()
    page.locator('input[type="file"]').set_input_files([{"name": name, "mimeType": "text/plain", "buffer": data}])
    if begin == "Import labels":  # the open project has these texts already
        expect(page.get_by_label("Import into")).to_be_visible()
        settled(page)
        page.get_by_label("Import into").scroll_into_view_if_needed()
        settled(page)  # an open list closes when the page is scrolled, and the browser reports that later
        page.get_by_label("Import into").click()
        page.get_by_role("option", name="New project").click()
    page.get_by_role("button", name=re.compile(r"^(download_done )?Import .* into")).click()
    # a toast says it too, for a while
    expect(page.get_by_test_id("stAlertContentSuccess").get_by_text("Imported into")).to_be_visible()
    page.wait_for_function("() => document.querySelector('[data-testid=stMain]').scrollTop === 0")
