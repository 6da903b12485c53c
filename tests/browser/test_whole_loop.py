"""The main job, end to end in a real browser: upload, score, compare, annotate, calibrate, export, import again."""

from __future__ import annotations

import csv
import io
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from core.data import OutputKey, SegmentKey
from core.formats.labels.google_mqm import read
from core.mqm.log import fold
from core.ports.projects import Project
from core.ports.store import Store
from db.store import open_store
from tests.browser.conftest import PATIENCE, Server, serving
from tests.browser.span_editor import category, drag, saved

SLOW = 240_000
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


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("home")
    made = open_store(f"sqlite:///{home / 'errorscope.db'}").projects.create(
        "before"
    )  # keeps the sample from being made
    assert made.id
    with serving(home, ERRORSCOPE_DB="") as running:
        yield running


def store(server: Server) -> Store:
    return open_store(f"sqlite:///{server.home / 'errorscope.db'}")


def project(server: Server, name: str = "loop") -> Project:
    return next(p for p in store(server).projects.list() if p.name == name)


def uploaded() -> bytes:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["system", "doc_id", "segment_id", "source", "reference", "output"])
    writer.writerows((system, "d", segment, source, ref, output) for system, segment, source, ref, output in ROWS)
    return text.getvalue().encode()


def upload(page: Page, server: Server, name: str, data: bytes, begin: str = "Upload outputs") -> None:
    page.goto(server.url)
    page.get_by_role("button", name=begin).first.click()
    page.locator('input[type="file"]').set_input_files([{"name": name, "mimeType": "text/plain", "buffer": data}])
    page.get_by_role("button", name=re.compile(r"^(download_done )?Import .* into")).click()
    imported = page.get_by_test_id("stAlertContentSuccess").get_by_text(
        "Imported into"
    )  # a toast says it too, for a while
    expect(imported).to_be_visible()


def wait_until(what, seconds: float = SLOW / 1000):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := what():
            return found
        time.sleep(0.5)
    raise AssertionError("waited in vain")


def test_upload_score_compare_annotate_calibrate_export(server: Server, page: Page, tmp_path: Path) -> None:
    page.set_default_timeout(PATIENCE)
    upload(page, server, "loop.csv", uploaded())
    data = store(server).projects.dataset(project(server).id)
    assert [(o.system, o.segment_id, o.text) for o in data.outputs] == [(r[0], r[1], r[4]) for r in ROWS]

    page.goto(f"{server.url}/compare?project={project(server).id}")
    page.get_by_role("button", name=re.compile("Compute scores \\(")).click()
    wait_until(lambda: [j for j in store(server).jobs.recent(project(server).id) if j.state == "done"])
    scored = {s.metric: s for s in store(server).scores.signatures(project(server).id)}
    assert {"chrf", "bleu", "ter", "rouge1", "rouge2", "rougeL", "bartscore", "bartscore++"} <= set(scored)
    table = store(server).scores.table(project(server).id, scored["bartscore++"].signature)
    assert len(table) == 6
    assert all(v.status == "ok" for v in table.values())

    compare(page, server)
    annotate(page, server)
    lam = calibrate(page, server)
    expect(page.locator(".esc-lambda output")).to_contain_text(f"{lam:.2f}"[:3])
    export(page, server, tmp_path)


def compare(page: Page, server: Server) -> None:
    """The cards show text as text; keys move on; the address names the place; the file is complete."""
    page.goto(f"{server.url}/compare?project={project(server).id}")
    expect(page.locator(".esc-card")).to_have_count(2)
    expect(page.locator(".esc-card", has_text="<b>rose</b> sharply")).to_be_visible()
    assert page.locator(".esc-card b", has_text="rose").count() == 0
    page.locator(".esc-nav").click()
    page.keyboard.press("ArrowRight")
    page.wait_for_url(re.compile("segment=2"))
    expect(page.locator(".esc-card", has_text="accepted")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="Scores as CSV").click()
    rows = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text(encoding="utf-8"))))
    assert {(r["system"], r["segment_id"]) for r in rows} == {(r[0], r[1]) for r in ROWS}


def annotate(page: Page, server: Server) -> None:
    """Three segments: marks, a no-error verdict for the rest, submitted; the log holds exactly that."""
    page.goto(f"{server.url}/annotate?project={project(server).id}&doc=d&segment=1")
    page.get_by_label("Name", exact=True).fill("Ann")
    page.get_by_role("button", name="Start").click()
    for segment in ("1", "2", "3"):
        page.wait_for_url(re.compile(f"segment={segment}"))
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
        at = SegmentKey("d", segment)
        wait_until(lambda at=at: submitted(server, "Ann", at), 30)
        if segment != "3":
            page.keyboard.press("Enter")  # on to the next unlabelled
    found = {
        (system, at.segment_id, m.span.quote): (m.span.severity, m.span.category)
        for (_, at), of in labels(server, "Ann").items()
        for system, o in of.outputs.items()
        for m in o.marks
    }
    assert found == {(s, seg, quote): (sev, cat) for quote, (s, seg, _, _, sev, cat) in MARKS.items()}
    spans = [m.span for of in labels(server, "Ann").values() for o in of.outputs.values() for m in o.marks]
    texts = {r[4] for r in ROWS}
    assert all(any(t[s.start : s.end] == s.quote for t in texts) for s in spans)


def submitted(server: Server, rater: str, at: SegmentKey) -> bool:
    of = labels(server, rater).get((rater, at))
    return of is not None and of.submitted


def labels(server: Server, rater: str):
    return fold(store(server).labels.events(project(server).id, rater=rater))


def calibrate(page: Page, server: Server) -> float:
    """λ is fitted, warned about, saved under a name and used on Compare."""
    page.goto(f"{server.url}/calibrate?project={project(server).id}")
    expect(page.get_by_text("agrees best with 1 annotator on 6 outputs")).to_be_visible()
    expect(page.get_by_text("94 are missing")).to_be_visible()
    page.get_by_label("Name for this λ").fill("loop λ")
    page.get_by_role("button", name="Save and use on Compare").click()
    page.wait_for_url(re.compile("/compare.*lambda="))
    (kept,) = store(server).calibrations.list(project(server).id)
    assert kept.name == "loop λ"
    assert kept.result["n"] == 6
    assert f"lambda={kept.value:.6g}" in page.url or "lambda=inf" in page.url
    return kept.value


def export(page: Page, server: Server, tmp_path: Path) -> None:
    """The labels leave as CSV and as Google's TSV; the TSV comes back as the same labels."""
    page.goto(f"{server.url}/?project={project(server).id}")
    page.get_by_role("button", name=re.compile("Export")).first.click()
    with page.expect_download() as download:
        page.get_by_role("button", name=re.compile("Download")).click()
    rows = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text(encoding="utf-8"))))
    assert {(r["system"], r["segment_id"], r["quote"], r["severity"]) for r in rows if r["quote"]} == {
        (s, seg, quote, sev) for quote, (s, seg, _, _, sev, _) in MARKS.items()
    }
    assert sum(r["verdict"] == "no_error" for r in rows) == 2
    page.get_by_label("Format").last.click()
    page.get_by_role("option", name=re.compile("Google MQM TSV")).click()
    expect(page.get_by_text("Format of the WMT releases")).to_be_visible()
    with page.expect_download() as download:
        page.locator("[class*=st-key-export-google]").get_by_role("button", name=re.compile("Download")).click()
    assert download.value.suggested_filename == "loop.mqm.tsv"
    tsv = Path(download.value.path()).read_bytes()
    back = {
        r.key: {(e.quote, e.severity) for e in r.errors if e.category.lower() != "no-error"}
        for r in read(tsv, "x.tsv").rated
    }
    assert back[OutputKey("A", "d", "1")] == {("sharply", "Minor")}
    upload(page, server, "again.tsv", tsv, "Import labels")
    again = project(server, "again")
    first, second = (
        {
            (k, s): (o.verdict, {m.span for m in o.marks})
            for k, of in fold(store(server).labels.events(p)).items()
            for s, o in of.outputs.items()
        }
        for p in (project(server).id, again.id)
    )
    assert first == second
