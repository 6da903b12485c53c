"""Contrast in both themes, computed from .streamlit/config.toml and the style sheets: WCAG 2.2, 1.4.3 and 1.4.11."""

from __future__ import annotations

import re
import tomllib

import pytest

from core.plots import base
from pages._ui.shared import page
from tests.colours import Rgba, colour, contrast, rules
from tests.paths import ROOT

CONFIG = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["theme"]
VARIABLES = dict(re.findall(r"(--[\w-]+): (.+?); ", page.VARIABLES.replace("}", "; ")))
STREAMLIT = {"text": "ink", "background": "paper", "secondary-background": "soft", "primary": "filled", "red": "major"}
VARIABLES |= {f"--st-{name}-color": f"var(--{role})" for name, role in STREAMLIT.items()}
"""What Streamlit calls the same colours, around its components only."""
TEXT, GRAPHIC = 4.5, 3.0
FADED = 0.6
"""The share of its colour that Streamlit leaves to captions, labels of groups and heads of tables."""
GRAPHICS = ("accent", "major", "minor", "neutral")
TINT = 0.5
EXEMPT = re.compile(r":disabled|\[aria-busy")
"""Inactive parts, which need no contrast."""


def sheets() -> dict[str, str]:
    """Return every style sheet of the pages by file: the files of components, and <style> in modules."""
    found = {"theme": page.STYLE}
    found |= {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "pages").rglob("*.css")}
    for path in (ROOT / "pages").rglob("*.py"):
        for i, style in enumerate(re.findall(r"<style>\n(.*?)</style>", path.read_text(encoding="utf-8"), re.DOTALL)):
            found[f"{path.name} {i}"] = style
    return found


def of(text: str, dark: bool, more: dict[str, str]) -> Rgba | None:
    return colour(text, VARIABLES | more, dark)


def named(role: str, dark: bool) -> Rgba:
    found = of(f"var(--{role})", dark, {})
    assert found is not None
    return found


def weak(sheet: str, dark: bool) -> list[str]:
    """Return the rules whose text is too pale on its own background or, without one, on that of the page.

    A rule with nothing but an opaque background draws a bar or a dot; a tint lies under text.
    """
    listed = list(rules(sheet))
    own = {name: value for _, declared in listed for name, value in declared.items() if name.startswith("--")}
    paper, found = named("paper", dark), []
    for selector, declared in listed:
        ground = of(declared.get("background-color", declared.get("background", "none")), dark, own)
        if EXEMPT.search(selector) or not (declared.keys() & {"color", "opacity"} or (ground and ground.a < TINT)):
            continue
        below = ground.over(paper) if ground else paper
        text = of(declared.get("color", "inherit"), dark, own) or named("ink", dark)
        text = text._replace(a=text.a * float(declared.get("opacity", "1")))
        if (ratio := contrast(text.over(below), below)) < TEXT:
            found.append(f"{selector}: {ratio:.2f}")
    return found


def test_contrast_is_measured_and_charts_have_one_blue() -> None:
    assert contrast(Rgba(255, 255, 255), Rgba(0, 0, 0)) == pytest.approx(21)
    assert contrast(Rgba(0x77, 0x77, 0x77), Rgba(255, 255, 255)) == pytest.approx(4.48, abs=0.005)  # a known near miss
    half = colour("color-mix(in srgb, var(--x) 50%, transparent)", {"--x": "light-dark(#000000, #ffffff)"}, False)
    assert half == Rgba(0, 0, 0, 0.5)
    assert half.over(Rgba(255, 255, 255)) == Rgba(127.5, 127.5, 127.5)
    assert weak(".a { color: #999999 } .b { background: #2b7bb0; color: white }", dark=False) == [".a: 2.85"]
    assert weak("p { opacity: .4; }", dark=True) == ["p: 3.41"]

    tones, texts = re.compile(r"\b(BLUE|ORANGE|GREY|GREEN)\b"), re.compile(r"mark_text\([^\n]*")
    found = [line for path in (ROOT / "core" / "plots").glob("*.py") for line in texts.findall(path.read_text("utf-8"))]
    assert len(found) > 5
    assert [line for line in found if tones.search(line)] == []
    assert CONFIG["chartCategoricalColors"][0] == base.BLUE
    for kind in ("light", "dark"):
        assert CONFIG[kind]["blueColor"] == CONFIG[kind]["linkColor"]


def test_text_lines_marks_and_charts_stand_out() -> None:
    for dark in (False, True):
        grounds = {role: named(role, dark) for role in ("paper", "soft")}
        grounds |= {
            tone: drawn._replace(a=base.TINT).over(grounds["paper"])
            for tone in (base.BLUE, base.ORANGE, base.GREY)
            if (drawn := of(tone, dark, {}))
        }
        texts = {role: named(role, dark) for role in ("ink", "quiet", "accent", "good")}
        texts["caption"] = texts["ink"]._replace(a=FADED)
        pairs = [(name, ground) for name in texts for ground in ("paper", "soft")]
        pairs += [("ink", base.BLUE), ("ink", base.ORANGE), ("ink", base.GREY)]
        ratios = {pair: contrast(texts[pair[0]].over(grounds[pair[1]]), grounds[pair[1]]) for pair in pairs}
        assert {pair: round(c, 2) for pair, c in ratios.items() if c < TEXT} == {}
        assert contrast(named("major", dark), named("paper", dark)) >= TEXT
        assert contrast(Rgba(255, 255, 255), named("filled", dark)) >= TEXT

    for dark in (False, True):
        grounds = [named("paper", dark), named("soft", dark)]
        found = {(role, contrast(named(role, dark), ground)) for role in (*GRAPHICS, "filled") for ground in grounds}
        assert {(role, round(ratio, 2)) for role, ratio in found if ratio < GRAPHIC} == set()
        colours = [*CONFIG["chartCategoricalColors"], base.BLUE, base.ORANGE, base.GREY, base.GREEN]
        ratios = {c: contrast(drawn, named("paper", dark)) for c in colours if (drawn := of(c, dark, {}))}
        assert len(ratios) > 5
        assert {c: round(ratio, 2) for c, ratio in ratios.items() if ratio < GRAPHIC} == {}


def test_every_rule_of_the_style_sheets_is_readable() -> None:
    for dark in (False, True):
        assert {name: pale for name, sheet in sheets().items() if (pale := weak(sheet, dark))} == {}
