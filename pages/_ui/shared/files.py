"""Downloads, charts that can be saved as pictures, and file names made of project names. All pages draw their downloads here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.formats.write import SPREADSHEET, csv_text
from core.reports.latex import latex_of_shown
from pages._ui.shared import person, state
from pages._ui.shared.markdown import escape_markdown

if TYPE_CHECKING:  # importing Altair takes time, and the first page of a server does not need it
    import altair as alt

MIME = {
    "csv": "text/csv",
    "html": "text/html",
    "json": "application/json",
    "png": "image/png",
    "svg": "image/svg+xml",
    "jsonl": "application/jsonl",
    "tex": "text/x-tex",
    "tsv": "text/tab-separated-values",
    "txt": "text/plain",
    "zip": "application/zip",
}
HELP_ON_PICTURES = {
    "png": "Headline, sentence and chart on white, as PNG for slides",
    "svg": "The same as SVG for papers. It shows all scripts, also those for which the server has no font",
}


def file_name(name: str) -> str:
    """Return a project's name as the start of a file name: letters, digits, dashes."""
    return re.sub(r"\W+", "-", name).strip("-_")[:60] or "project"


Content = str | bytes


def download(
    label: str,
    content: Content | Callable[[], Content],
    name: str,
    key: str | None = None,
    *,
    mime: str = "",
    **layout: Any,
) -> None:
    """Draw a download button for a file; text is encoded in UTF-8, a CSV with `SPREADSHEET`. Without `mime`, `name` ends as in `MIME`.

    A function is called at the click, as the person for whom the button was drawn: it may use `wiring`.
    """
    csv = name.endswith(".csv")
    data = person.made_at_click(lambda: _encoded(content(), csv)) if callable(content) else _encoded(content, csv)
    st.download_button(
        label, data, name, mime or MIME[name.rpartition(".")[2]],
        key=key, on_click="ignore", icon=":material/download:", **layout,
    )  # fmt: skip


def figure(
    chart: alt.TopLevelMixin, headline: str, sentence: str, what: str, hint: str = "", *, place: Any = st, drawn_in: Any = None,
    width: Any = "stretch", **selection: Any,
) -> Any:  # fmt: skip
    """Draw a chart, the sentence below it, and buttons that save them with the headline as a picture; return the selection in the chart.

    `headline`, `sentence` and `hint` are plain texts. The page shows the headline elsewhere, and the hint behind the sentence. `what` is
    the end of the file name, after the project. `drawn_in` is the container of the chart alone, if it is not `place`.
    """
    selected = (drawn_in or place).altair_chart(chart, width=width, **selection)
    name = _of_project(what)
    with place.container(horizontal=True, gap="small"):
        st.caption(escape_markdown(f"{sentence} {hint}".strip()), width="stretch")
        for ending, label in (("png", "Save picture"), ("svg", "SVG")):
            make = partial(_picture, chart, headline, sentence, ending)
            help_text = HELP_ON_PICTURES[ending]
            download(label, make, f"{name}.{ending}", f"picture-{what}-{ending}", type="tertiary", help=help_text)
    return selected


def table_files(
    shown: Sequence[Mapping[str, str]], caption: str, what: str, exact: Callable[[], tuple[Sequence[str], Iterable[Sequence[Any]]]] | None = None
) -> None:  # fmt: skip
    """Draw the downloads of a table: the `shown` cells for LaTeX, and the `exact` columns and rows as CSV. `what` as in `figure`."""
    rows = [("Table as CSV", "csv", lambda: csv_text(*exact()))] if exact is not None else []
    downloads(what, f"table-{what}", *rows, ("Table as LaTeX", "tex", lambda: latex_of_shown(shown, caption)))


def downloads(what: str, key: str, *files: tuple[str, str, Callable[[], Content]]) -> None:
    """Draw a row of downloads, each with its label, the ending of its name, and what makes its content. `what` as in `figure`."""
    with st.container(horizontal=True):
        for label, ending, make in files:
            download(label, make, f"{_of_project(what)}.{ending}", f"{key}-{ending}")


def _of_project(what: str) -> str:
    project = state.projects().project
    return f"{file_name(project.name)}.{what}" if project else what


def _picture(chart: alt.TopLevelMixin, headline: str, sentence: str, ending: Any) -> bytes:
    from core.reports.picture import picture

    return picture(chart, headline, sentence, ending)


def _encoded(content: Content, csv: bool) -> bytes:
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return SPREADSHEET + data if csv else data
