"""Count what it takes to label a unit in each protocol, by keyboard and by mouse: `python -m tests.bench.actions`.

The unit has two errors in its first output, a word (Major) and a passage of three words (Minor). A key, a click or a drag is one
action. The columns of Appraise and Pearmut are not measured: they follow from their code for ESA (Appraise's
`direct-assessment-document-mqm-esa.js`, Pearmut's `annotate.ts`). In Appraise, two clicks or a drag make a span that is minor, one
more click makes it major, a click sets the score, and one click submits a document (here of one segment). In Pearmut, two clicks make
a span, a click in its toolbox sets the severity, a click sets the score, one goes on. In neither can spans be marked by keyboard.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from core.campaigns.protocol import PROTOCOLS
from tests.browser.conftest import CHROMIUM, QUIET, serving
from tests.browser.protocols import OUTPUTS, Hands, by_keyboard, by_mouse, fill, host_of, opened

ERRORS = 2
WAYS = {"keyboard": by_keyboard, "mouse": by_mouse}


def others(name: str) -> tuple[str, str]:
    """Return the mouse actions per unit that the code of Appraise (with drags to with clicks only) and of Pearmut implies, where they have the protocol."""
    n = OUTPUTS[name]  # type: ignore[index]
    if name in ("esa", "cesa"):
        return f"{(1 + 1) + 1 + n + 1}–{(2 + 1) + 2 + n + 1}", str(ERRORS * 3 + n + 1)
    return ("2", "2") if name == "da" else ("", "")


def main() -> None:
    with (
        serving(Path(tempfile.mkdtemp()), ERRORSCOPE_WORKER="off", ERRORSCOPE_DB="") as server,
        sync_playwright() as playwright,
    ):
        store = server.store()
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        print(
            f"{'protocol':<22}{'outputs':>8}{'way':>10}{'per error':>11}{'per unit':>10}{'Appraise':>10}{'Pearmut':>9}"
        )
        for name in OUTPUTS:
            fill(store, name)
            for way, work in WAYS.items():
                page = browser.new_context(viewport={"width": 1400, "height": 1000}).new_page()
                actions = work(Hands(opened(host_of(server, name), page, way)), name)
                per_error = f"{actions.errors / ERRORS:g}" if actions.errors else "–"
                appraise, pearmut = others(name) if way == "mouse" else ("", "")
                title = PROTOCOLS[name].title
                print(
                    f"{title:<22}{OUTPUTS[name]:>8}{way:>10}{per_error:>11}{actions.unit:>10}{appraise:>10}{pearmut:>9}"
                )
        browser.close()


if __name__ == "__main__":
    main()
