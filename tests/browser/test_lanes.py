"""Lanes of error spans on Compare in a real browser: lines of the text, details, the confidence slider, and replies of a judge."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, WebSocket, expect

from core.data import Dataset, Output, OutputKey, RatedOutput, Segment, SegmentKey, Span, Value
from core.mqm.actions import label_actions
from core.ports.labels import Action
from core.services.spans.layers import add_layer
from core.signature import content_key
from core.spans.layers import LayerSpan, spans_to_json
from tests.browser.conftest import Server, at_rest

SIGNATURE = "judge-mqm|model:tiny|v:test"
HTML = '<img src=x onerror="document.title=1">**bold** :material/delete: $x$'
LEFT = "The 😀 river rose and the whole town on both of its banks was warned in time by the men who live near the old mill."
RIGHT = "ارتفع النهر وحُذرت المدينة كلها على ضفتيه في الوقت المناسب من قبل الرجال الذين يعيشون قرب الطاحونة القديمة."
LONG = f"{LEFT} " * 40
TEXTS = {"1": LEFT, "2": RIGHT, "3": LONG}
NAMES = ("alpha", "beta", "gamma")


def at(text: str, words: str, severity: str, category: str = "Accuracy/Mistranslation", note: str = "") -> Span:
    start = text.index(words)
    return Span("output", start, start + len(words), words, severity, category, note)


def spans_of(text: str) -> dict[str, tuple[LayerSpan, ...]]:
    """Two annotators, a file with confidences, and a judge, on one text."""
    words = text.split()
    first, part = " ".join(words[1:3]), " ".join(words[4:9])
    empty = Span("output", len(words[0]), len(words[0]), "", "Major", "Accuracy/Omission")
    major, minor = at(text, first, "Major", note="not what the source says"), at(text, part, "Minor")
    return {
        "ann": (LayerSpan(major), LayerSpan(at(text, words[9], "Neutral", "Style"))),
        "ben": (LayerSpan(minor), LayerSpan(empty)),
        "file": (LayerSpan(minor, 0.9), LayerSpan(major, 0.25), LayerSpan(empty, 0.6)),
        "judge": (LayerSpan(at(text, " ".join(words[2:7]), "Major")),),
    }


@pytest.fixture(scope="module")
def project(shared: Server) -> int:
    store = shared.store()
    segments = tuple(Segment("d", s, f"source {s}") for s in TEXTS)
    data = Dataset(segments, tuple(Output(n, "d", s, f"{text} {n}") for s, text in TEXTS.items() for n in NAMES))
    made = store.projects.create("lanes").id
    store.projects.add(made, data)
    rated, in_file, judged = [], dict[OutputKey, tuple[LayerSpan, ...]](), dict[str, Value]()
    for output in data.outputs:
        of = spans_of(output.text) if output.system == "alpha" else dict.fromkeys(("ann", "ben", "file", "judge"), ())
        rated += [
            RatedOutput(output.key, who, tuple(s.error for s in of[who]))
            for who in ("ann", "ben") if output.system != "gamma"
        ]  # fmt: skip
        if output.system != "beta":
            in_file[output.key] = of["file"]
        reply: dict[str, Any] = {"state": "ok", "text": HTML, "model": "tiny", "tokens_in": 321, "tokens_out": 12, "repeat": 0, "why": "no JSON object"}  # fmt: skip
        detail = {"state": "ok", "spans": spans_to_json(of["judge"]), "replies": [reply]}
        detail["unplaced"] = [{"quote": "nowhere", "severity": "Major", "category": "", "outcome": "not_found", "places": []}]  # fmt: skip
        key = content_key(f"source {output.segment_id}", output.text, ())
        judged[key] = Value(-5.0 if of["judge"] else 0.0, detail=detail)
        if output.system == "gamma":
            refused = {"state": "refused", "replies": [reply | {"state": "refused", "text": ""}]}
            judged[key] = Value(None, "undefined", "the judge refused to answer", detail=refused)
    for (who, segment), actions in label_actions(rated).actions.items():
        store.labels.append(made, who, segment, actions)
    add_layer(store, made, "xCOMET", in_file, {"file": "xcomet.json", "sha256": "0" * 64}, {})
    store.scores.put("judge-mqm", SIGNATURE, judged, 1.0)
    return made


def opened(server: Server, page: Page, project: int) -> None:
    page.goto(f"{server.url}/compare?project={project}&doc=d&segment=1")
    expect(page.locator(".esc-card")).to_have_count(3)
    at_rest(page)


def card_of(page: Page, name: str) -> Any:
    return page.locator(".esc-card", has=page.get_by_text(name, exact=True))


def test_lanes_show_what_each_layer_marked_and_examined(shared: Server, page: Page, project: int) -> None:
    opened(shared, page, project)
    alpha, beta, gamma = (card_of(page, name) for name in NAMES)
    expect(alpha.locator(".esl-rows li")).to_have_text([
        re.compile("A ann 1 Major, 1 Neutral"), re.compile("B ben 1 Major, 1 Minor"), re.compile("C Judge MQM 1 Major"), re.compile("D xCOMET 2 Major, 1 Minor"),
    ])  # fmt: skip
    expect(beta.locator(".esl-verdict")).to_have_text(["no error"] * 3)
    expect(beta.locator(".esl-none")).to_have_text("not examined: D xCOMET")
    expect(gamma.locator(".esl-none")).to_have_text(re.compile("not examined: A ann, B ben, C "))
    # an empty span is a caret in two lanes; the text can be copied without the signs of the lanes
    expect(alpha.locator(".esl-text mark", has_text="‸")).to_have_attribute("data-spans", "B1 D1")
    button = alpha.get_by_role("button", name="xCOMET, error 2: Major, Accuracy/Mistranslation “")
    button.focus()
    details = alpha.locator(".esl-details")
    for words in ("Major", "not what the source says", "xCOMET (imported file), confidence 0.25", "file: xcomet.json"):
        expect(details).to_contain_text(words)
    assert alpha.locator(".esl-on").count() == 2  # the spans of other layers cut its words
    page.keyboard.press("Escape")
    expect(details).to_be_hidden()
    alpha.locator(".esl-text mark").first.click()
    expect(details).to_contain_text("B1")
    # the chosen layers stay
    page.get_by_role("button", name="Error spans: 4 layers").click()
    page.get_by_role("button", name="Remove ann (annotator)").click()
    expect(alpha.locator(".esl-rows li")).to_have_count(3)
    assert page.url.count("layer=") == 3
    page.reload()
    expect(card_of(page, "alpha").locator(".esl-rows li")).to_have_count(3)


def test_lanes_follow_wrapped_lines_in_both_directions(shared: Server, page: Page, project: int) -> None:
    opened(shared, page, project)
    for segment, width in (("1", 420), ("2", 420), ("2", 1300), ("3", 420)):
        page.set_viewport_size({"width": width, "height": 900})
        if f"segment={segment}" not in page.url:
            page.get_by_role("button", name="next segment").click()
            expect(page).to_have_url(re.compile(f"segment={segment}"))
        at_rest(page)
        text = card_of(page, "alpha").locator(".esl-text")
        assert text.evaluate("t => t.scrollWidth <= t.clientWidth + 1")
        # each piece is painted on as many lines as its words take, and no line is painted over the next one's words
        lines = text.locator("mark").evaluate_all(
            "all => all.map((m) => [...m.getClientRects()].map((r) => [r.top, r.bottom]))"
        )
        tops = sorted({round(top) for of in lines for top, _ in of})
        height = text.evaluate("t => parseFloat(getComputedStyle(t).lineHeight)")
        assert all(b - a >= height - 2 or b - a <= 2 for a, b in zip(tops, tops[1:], strict=False))
        assert all(bottom - top <= height + 1 for of in lines for top, bottom in of)


def test_the_confidence_slider_needs_no_request_and_replies_are_read(shared: Server, page: Page, project: int) -> None:
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url))
    page.on("websocket", lambda ws: observe(ws, sent))
    opened(shared, page, project)
    slider = page.get_by_label("lowest confidence of error spans that are shown")
    said, alpha = page.locator(".esl-least"), card_of(page, "alpha")
    expect(said).to_have_text("0.00: none hidden")
    page.wait_for_timeout(300)
    sent.clear()
    for value, words, verdict in (("0.3", "1 error span below it hidden", "1 Major, 1 Minor, 1 below 0.30"), ("0.95", "3 error spans below it hidden", "3 below 0.95")):  # fmt: skip
        slider.fill(value)
        expect(said).to_contain_text(words)
        expect(alpha.locator(".esl-rows li", has_text="xCOMET")).to_contain_text(verdict)
    expect(alpha.locator('[data-spans~="D1"]')).to_have_count(0)
    expect(alpha.locator('[data-spans~="A1"]').first).to_be_visible()
    page.wait_for_timeout(300)
    assert sent == []
    slider.fill("0")
    page.get_by_role("button", name="Error spans: 4 layers").click()
    page.get_by_role("button", name="Remove xCOMET (imported file)").click()
    expect(slider).to_have_count(0)  # no shown layer has a confidence
    assert_replies_are_read_from_scores(page)


def observe(ws: WebSocket, sent: list[str]) -> None:
    ws.on("framesent", lambda _: sent.append(ws.url))


def assert_replies_are_read_from_scores(page: Page) -> None:
    card_of(page, "alpha").get_by_role("button", name=re.compile("Read the replies")).click()
    dialog = page.get_by_role("dialog")
    for words in (
        "state ok",
        "321 tokens read",
        "12 tokens written",
        "model tiny",
        "reason no JSON object",
        "1 quote without a place",
        SIGNATURE,
    ):
        expect(dialog).to_contain_text(words)
    expect(dialog.locator("code")).to_have_text(HTML)  # as written
    assert page.title() != "1"
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    card_of(page, "gamma").get_by_role("button", name=re.compile("no score. Read the replies")).click()
    expect(dialog).to_contain_text("The judge refused to answer")
    expect(dialog).to_contain_text("The reply is empty")


def test_annotate_shows_the_lanes_once_the_systems_are_revealed(shared: Server, page: Page, project: int) -> None:
    store, here = shared.store(), SegmentKey("d", "2")
    submitted = [Action("g", "verdict", "gamma", {"value": "no_error"}), Action("s", "submit", None, {})]
    store.labels.append(project, "ann", here, submitted)
    page.goto(f"{shared.url}/annotate?project={project}&doc=d&segment=2")
    page.get_by_role("textbox").first.fill("ann")
    page.get_by_role("button", name="Start annotating").click()
    page.get_by_role("button", name="Reveal system names").click()
    expect(page.locator(".esl-rows")).to_have_count(0)
    page.get_by_role("button", name="Reveal and lock this segment").click()
    expect(page.locator(".esl-rows")).to_have_count(3)
    alpha = page.locator("section", has=page.locator("h4", has_text="alpha"))
    expect(alpha.locator(".esl-rows li")).to_have_count(4)
    assert alpha.locator("mark").first.evaluate("m => getComputedStyle(m).borderBottomStyle") == "none"
    page.get_by_label("lowest confidence of error spans that are shown").fill("0.95")
    expect(alpha.locator(".esl-rows li", has_text="xCOMET")).to_contain_text("3 below 0.95")
