"""What was typed or chosen in forms, kept while their page or section is closed and when the browser loads the page again.

Streamlit forgets a widget that is not drawn, and everything at a reload. So values are copied into a draft on this server, whose
name is in the address. A tab of the same person that opens the address begins with a copy. Drafts end with the server.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

import streamlit as st

from core.formats.files import Upload
from pages._ui.shared import errors, wiring
from pages._ui.shared.markdown import escape_markdown

DRAFT = "draft"
"""Query parameter with the name of the draft."""
MOST = 500
UPLOADED = 64 << 20
"""Most bytes of the uploaded files that all drafts hold together; the oldest drafts lose theirs first."""
_NAME, _KEYS = "errorscope_draft", "errorscope_draft_keys"
_NO_DEFAULT = object()

T = TypeVar("T")
Draft = dict[str, Any]


@st.cache_resource(show_spinner=False)
def _drafts() -> OrderedDict[tuple[str, str], Draft]:
    return OrderedDict()


def _draft() -> Draft:
    """Return the draft of this session; a new session begins with a copy of the one in the address."""
    drafts, who = _drafts(), wiring.identity().who
    name = (who, st.session_state.setdefault(_NAME, secrets.token_urlsafe(9)))
    if name not in drafts:
        drafts[name] = dict(drafts.get((who, st.query_params.get(DRAFT, "")), {}))
        while len(drafts) > MOST:
            drafts.popitem(last=False)
    drafts.move_to_end(name)
    return drafts[name]


def _defaults() -> dict[str, object]:
    """Return the kept keys of this session, each with the default of its widget."""
    keys: dict[str, object] = st.session_state.setdefault(_KEYS, {})
    return keys


def _copy(key: str) -> None:
    value = st.session_state[_widget(key)]
    default = _defaults()[key]
    if default is not _NO_DEFAULT and value == default:  # a default may be another one next time
        _draft().pop(key, None)
    else:
        _draft()[key] = value
        if _uploads(value):
            _forget_old_uploads()


def _uploads(value: object) -> list[Upload]:
    """Return the files in a list, or among the options of something that was asked for."""
    if isinstance(value, Upload):
        return [value]
    return [file for each in value for file in _uploads(each)] if isinstance(value, list | tuple) else []


def _forget_old_uploads() -> None:
    """Remove the oldest files until all drafts hold at most `UPLOADED` bytes. Files that copies of a draft share count once."""
    mine, held, seen = _draft(), 0, set[int]()
    for draft in reversed(list(_drafts().values())):
        for key, value in list(draft.items()):
            new = [file for file in _uploads(value) if id(file) not in seen]
            held += sum(len(file.data) for file in new)
            if new and held > UPLOADED and draft is not mine:
                draft.pop(key, None)
            else:
                seen.update(map(id, new))


def gather() -> None:
    """Copy what the browser has sent. Call it before a page is drawn: the page that is left is not drawn again."""
    for key in _defaults():
        if _widget(key) in st.session_state:
            _copy(key)


def kept(key: str, default: object = _NO_DEFAULT, fits: Callable[[Any], bool] | None = None) -> str:
    """Return the key of the widget, after restoring its value from the draft: `key`, or another one once the default has changed.

    Draw the widget in the same run: Streamlit keeps a value that is set without a widget, and would show it again after the
    widget's own newer value is gone.

    Give the `default` of a widget if it depends on the data, so that it is not kept. While nobody has changed the value, it
    follows the default, under a new key: under the same one the browser would show the new default, and the session keep the old
    value. A value that does not `fit` is not restored.
    """
    before, draft = _defaults().get(key, default), _draft()
    _defaults()[key] = default
    if before != default and before == st.session_state.get(_widget(key), _NO_DEFAULT):
        st.session_state[_followed(key)] = st.session_state.get(_followed(key), 0) + 1
    widget = _widget(key)
    if widget in st.session_state:
        _copy(key)
    elif key in draft and (fits is None or fits(draft[key])):
        st.session_state[widget] = draft[key]
    if draft and st.query_params.get(DRAFT) != st.session_state[_NAME]:
        st.query_params[DRAFT] = st.session_state[_NAME]
    return widget


def _widget(key: str) -> str:
    times = st.session_state.get(_followed(key), 0)
    return f"{key}-default-{times}" if times else key


def _followed(key: str) -> str:
    return f"{key}-times-followed"


def forget(*keys: str) -> None:
    """Discard these values."""
    for key in keys:
        st.session_state.pop(_widget(key), None)
        _draft().pop(key, None)


def replaceable(key: str) -> str:
    """Return the key of a widget whose value, kept as `key`, callbacks may `replace`. Draw the widget with its default.

    A browser that has not yet received a replaced value sends the old one with the next click. Under the old key it is ignored;
    under the same key it would count as a choice of the user, and undo the replacement.
    """
    widget = f"{key}-{st.session_state.get(kept(_drawn(key)), 0)}"
    if widget in st.session_state:
        st.session_state[key] = st.session_state[widget]
    elif kept(key) in st.session_state:
        st.session_state[widget] = st.session_state[key]
    return widget


def replace(key: str, value: object) -> None:
    """Replace the value of a widget that is drawn under `replaceable(key)`. For callbacks."""
    st.session_state[key] = value
    st.session_state[_drawn(key)] = st.session_state.get(_drawn(key), 0) + 1


def _drawn(key: str) -> str:
    return f"{key}-times-replaced"


def table(rows: T, key: str, **options: Any) -> T:
    """Draw an editable table that begins with these rows; return it as edited."""
    start, last = f"{key}-start", f"{key}-last"
    kept(last)
    if key not in st.session_state:  # while it is drawn, the browser sends what differs from the rows it began with
        st.session_state[start] = st.session_state.get(last, rows)
    edited: T = st.data_editor(st.session_state[start], key=key, hide_index=True, width="stretch", **options)
    st.session_state[last] = edited
    return edited


def uploads(label: str, kinds: list[str], key: str, *, several: bool = False, help: str = "") -> list[Upload]:
    """Draw a file uploader; return its files, which are kept although the browser shows none of them after a reload."""
    widget = f"{key}-sent"

    @errors.guarded
    def take() -> None:
        sent = st.session_state.get(widget) or []
        files = sent if isinstance(sent, list) else [sent]
        st.session_state[key] = [Upload(file.name, file.getvalue()) for file in files]

    sent = st.file_uploader(label, kinds, accept_multiple_files=several, key=widget, on_change=take, help=help)
    there: list[Upload] = st.session_state.get(kept(key)) or []
    if there and not sent:
        with st.container(horizontal=True, vertical_alignment="center"):
            names = ", ".join(file.name for file in there)
            st.markdown(f":material/attach_file: {escape_markdown(names)}", width="content")
            st.button("Remove", key=f"{key}-remove", on_click=forget, args=(key,), type="tertiary")
    return there
