"""Small tables of texts, and the reasons why values are missing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import streamlit as st

from core.errors import Problem
from core.formatting import MISSING, format_count, is_figure
from pages._ui.shared.markdown import escape_markdown, with_doc_links

if TYPE_CHECKING:  # importing pandas takes 0.3 s, and the first page of a server does not need it
    import pandas as pd

TALL = 12


def are_figures(values: Iterable[object]) -> bool:
    """Return whether all these texts are numbers, possibly with an interval, a percent sign or a mark; empty ones do not count."""
    texts = [text for value in values if value is not None and (text := str(value).strip()) not in ("", MISSING)]
    return bool(texts) and all(is_figure(text) for text in texts)


def text_table(rows: Sequence[Mapping[str, str]], tall: int = TALL, messages: Collection[str] = ()) -> None:
    """Draw a table of texts with wrapped cells; numbers stand at the right. Empty columns are left out; more than `tall` rows scroll.

    `messages` are the columns with sentences of the program, in which the documentation that they name is linked.
    """
    import pandas as pd

    def cell(name: str, text: str) -> str:
        return with_doc_links(text) if name in messages else escape_markdown(text)

    names = [name for name in rows[0] if any(row[name] for row in rows)] if rows else []
    shown = pd.DataFrame([{escape_markdown(name): cell(name, row[name]) for name in names} for row in rows])
    right = "text-align: right !important; font-variant-numeric: tabular-nums"  # Streamlit aligns texts at the left
    columns = [k for k, name in enumerate(names) if are_figures(row[name] for row in rows)]
    style = shown.style.set_table_styles([{"selector": f".col{k}", "props": right} for k in columns], overwrite=True)
    st.table(style, border="horizontal", hide_index=True, height=480 if len(rows) > tall else "content")


def problem_table(problems: Sequence[Problem]) -> None:
    """Draw the table of problems: where, found, expected, what to do."""
    rows = [
        {
            "file": p.file,
            "row": f"{p.row}" if p.row else "",
            "column": p.column,
            "found": p.got,
            "expected": p.expected,
            "what to do": p.todo,
        }
        for p in problems
    ]
    text_table(rows, messages=("expected", "what to do"))


def warnings_table(problems: Sequence[Problem], n: int, notes: Sequence[str] = ()) -> None:
    """Draw, folded, the `n` warnings that do not prevent an import: notes, then a table of problems."""
    with st.expander(f"{format_count(n, 'warning')} (the import is possible)", icon=":material/warning:"):
        for note in notes:
            st.text(note)
        if problems:
            problem_table(problems)


def data_table(
    rows: pd.DataFrame | Sequence[Any],
    formats: Mapping[str, Callable[..., str]] | None = None,
    columns: Mapping[str, Any] | None = None,
    helps: Mapping[str, str] | None = None,
    *,
    height: Literal["auto", "content"] = "auto",
) -> None:
    """Draw a table that can be sorted; rows are mappings. Numbers are shown by `formats`, and figures stand at the right.

    Numbers without a value are shown as `MISSING`; `columns` are further column configurations, and `helps` the help texts of others.
    """
    import pandas as pd

    frame = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(list(rows))
    shown: dict[Any, Any] = {name: form for name, form in (formats or {}).items() if name in frame}
    frame = frame.astype(dict.fromkeys(shown, float))
    texts = [name for name in frame if not pd.api.types.is_numeric_dtype(frame[name])]
    right = {str(n): st.column_config.TextColumn(alignment="right") for n in texts if are_figures(frame[n])}
    style = frame.style.format(shown, na_rep=MISSING, subset=list(shown))
    explained = {
        name: st.column_config.TextColumn(help=text, alignment="right" if name in right else None)
        if name in texts
        else st.column_config.NumberColumn(help=text)
        for name, text in (helps or {}).items()
    }
    config: Any = right | explained | dict(columns or {})
    st.dataframe(style, hide_index=True, width="stretch", height=height, column_config=config, placeholder=MISSING)


def help_on_missing(text: str, *, missing: bool) -> str:
    """Return the help of a column of scores, from a plain text; it explains the dash if scores are `missing`."""
    return escape_markdown(f"{text}\n{MISSING} no score" if missing else text)


def reasons(lines: Sequence[str]) -> None:
    """Draw why values were not computed, one line per value; nothing if all were."""
    if lines:
        with st.expander(f"{format_count(len(lines), 'value')} not computed: reasons"):
            st.text("\n".join(lines))
