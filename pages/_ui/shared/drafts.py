"""What was typed, chosen and uploaded in forms, kept while their page or section is closed and when the browser loads the page again.

Streamlit forgets a widget that is not drawn, and everything at a reload. So values are copied into a draft on this server, whose
name is in the address. A reloaded tab continues its draft; a second tab of the same person begins with a copy. Nobody else can open
it. Uploaded files are on disk, with every value that JSON can hold, so that they outlive the server; other values end with it.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from core.formats.files import Upload
from core.formatting import format_count
from core.services.people.drafts import HOURS, DraftFolder, StoredDraft
from core.settings import load_settings
from pages._ui.shared import errors, person, wiring
from pages._ui.shared.markdown import escape_markdown

DRAFT = "draft"
"""Query parameter with the name of the draft."""
MOST = 500
LARGEST = 100 << 20
"""Bytes of the files of one upload, which the browser sends at once."""
UPLOADED = 1 << 30
"""Most bytes of the uploaded files of all drafts; those that were not used for longest are deleted first."""
NAMED = 4
"""Names of kept files that are shown; the others are counted."""
_NAME, _KEYS = "errorscope_draft", "errorscope_draft_keys"
_NO_DEFAULT = object()

T = TypeVar("T")
K = TypeVar("K")


@st.cache_resource(show_spinner=False)
def _drafts() -> OrderedDict[str, StoredDraft]:
    return OrderedDict()


def folder() -> DraftFolder:
    """Return where drafts and uploaded files are kept."""
    return DraftFolder(load_settings().home / "drafts")


def _disk_name(name: str) -> str:
    """Return the name of a draft of this person in this database."""
    who = json.dumps([load_settings().database, wiring.identity().who, name])
    return hashlib.sha256(who.encode("utf-8", "surrogatepass")).hexdigest()


def _stored_draft(name: str) -> StoredDraft | None:
    """Return a draft of this person, from memory or from disk."""
    drafts, disk_name = _drafts(), _disk_name(name)
    if disk_name not in drafts:
        if (saved := folder().load(disk_name)) is None:
            return None
        drafts[disk_name] = saved
    return drafts[disk_name]


def _draft() -> StoredDraft:
    """Return the draft of this session. A new session continues the one in the address, or copies it if another tab uses it."""
    run = person.kept_for_run()
    if "draft" not in run or _NAME not in st.session_state:
        run["draft"] = _opened()
    draft: StoredDraft = run["draft"]
    return draft


def _opened() -> StoredDraft:
    drafts = _drafts()
    if _NAME not in st.session_state:
        asked = st.query_params.get(DRAFT, "")
        opened = _stored_draft(asked) if asked else None
        st.session_state[_NAME] = name = asked if opened and not _is_open(opened.session) else secrets.token_urlsafe(9)
        if opened and name != asked:
            drafts[_disk_name(name)] = opened.copy(_disk_name(name))
    if (draft := _stored_draft(st.session_state[_NAME])) is None:
        draft = drafts[_disk_name(st.session_state[_NAME])] = StoredDraft(_disk_name(st.session_state[_NAME]), folder())
    draft.session = _session()
    drafts.move_to_end(draft.name)
    while len(drafts) > MOST:
        drafts.popitem(last=False)
    return draft


def _session() -> str:
    run = get_script_run_ctx(suppress_warning=True)
    return run.session_id if run else ""


def _is_open(session: str) -> bool:
    """Return whether a tab of this session is open, other than this one."""
    return session != _session() and runtime.exists() and runtime.get_instance().is_active_session(session)


def _defaults() -> dict[str, object]:
    """Return the kept keys of this session, each with the default of its widget."""
    keys: dict[str, object] = st.session_state.setdefault(_KEYS, {})
    return keys


def _copy(key: str) -> None:
    value = st.session_state[_widget(key)]
    default = _defaults()[key]
    if default is not _NO_DEFAULT and value == default:  # a default may be another one next time
        _draft().pop(key)
    else:
        _draft().put(key, value)


def gather() -> None:
    """Copy what the browser has sent. Call it before a page is drawn: the page that is left is not drawn again."""
    for key in _defaults():
        if _widget(key) in st.session_state:
            _copy(key)
    if _defaults():
        _draft().save()


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
    elif draft.has(key):
        value = draft.get(key)
        if fits is None or fits(value):
            st.session_state[widget] = value
    for parameter, name in in_address().items():
        if st.query_params.get(parameter) != name:
            st.query_params[parameter] = name
    return widget


def _widget(key: str) -> str:
    times = st.session_state.get(_followed(key), 0)
    return f"{key}-default-{times}" if times else key


def _followed(key: str) -> str:
    return f"{key}-times-followed"


def in_address() -> dict[str, str]:
    """Return the query parameter of the draft; none while it is empty."""
    return {DRAFT: st.session_state[_NAME]} if _draft().keys() else {}


def forget(*keys: str) -> None:
    """Discard these values, and delete their files."""
    draft = _draft()
    for key in keys:
        draft.remove_files(key)
        st.session_state.pop(_widget(key), None)
        _defaults().pop(key, None)
        draft.pop(key)
    draft.save()


def forget_all(*prefixes: str) -> None:
    """Discard the values of all keys that begin so, and delete their files."""
    keys = {*_draft().keys(), *_defaults(), *map(str, st.session_state)}
    forget(*[key for key in keys if key.startswith(prefixes)])


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


def select(label: str, names: Mapping[K, str], first: K, key: str, place: Any = st, **options: Any) -> K:
    """Draw a select box that shows the names of its options and begins with `first`; return the chosen option, which is kept."""
    at, widget = list(names).index(first), kept(key, first, names.__contains__)
    chosen: K = place.selectbox(label, names, at, format_func=names.__getitem__, key=widget, **options)
    return chosen


def table(rows: T, key: str, **options: Any) -> T:
    """Draw an editable table that begins with these rows; return it as edited."""
    start, last = f"{key}-start", f"{key}-last"
    kept(last)
    if key not in st.session_state:  # while it is drawn, the browser sends what differs from the rows it began with
        st.session_state[start] = st.session_state.get(last, rows)
    edited: T = st.data_editor(st.session_state[start], key=key, hide_index=True, width="stretch", **options)
    st.session_state[last] = edited
    return edited


def uploads(
    label: str, kinds: list[str] | None, key: str, *, several: bool | Literal["directory"] = False, until: str = "removed",
    changed: Callable[[], None] | None = None, too_large: Callable[[Sequence[str], int], None] | None = None,
    remove: Callable[[], None] | None = None, **layout: Any,
) -> list[Upload]:  # fmt: skip
    """Draw a file uploader; return its files, which are kept although the browser shows none of them after a reload.

    `until` says what ends that earlier than the time. `changed` is called when files come or go. `too_large` draws what to do with files of too many
    bytes, given their names. `remove` replaces the callback of *Remove*, which then is called *Discard* and always shown.
    """
    widget, sent_key, refused = f"{key}-sent", f"{key}-from-widget", f"{key}-refused"

    @errors.guarded
    def take() -> None:
        """Write new files to disk. Files from before a reload stay, except those whose names come again."""
        sent = st.session_state.get(widget) or []
        sent = sent if isinstance(sent, list) else [sent]
        before: dict[str, Upload] = st.session_state.get(sent_key, {})
        mine = {id(file) for file in before.values()}
        names = {file.name for file in sent}
        others = [f for f in st.session_state.get(key) or [] if id(f) not in mine and f.name not in names and several]
        size = sum(file.size for file in sent) + sum(file.size for file in others)
        if size > LARGEST:
            st.session_state[refused] = [file.name for file in (*others, *sent)], size
            return
        st.session_state.pop(refused, None)
        new = [file for file in sent if file.file_id not in before]
        ids = folder().keep([file.getvalue() for file in new], UPLOADED)
        now = {f.file_id: folder().file(f.name, i) for f, i in zip(new, ids, strict=True)}
        now = {file.file_id: now.get(file.file_id) or before[file.file_id] for file in sent}
        gone = {file.id for file in st.session_state.get(key) or []} - {f.id for f in (*others, *now.values())}
        folder().remove(gone)
        st.session_state[sent_key] = now
        st.session_state[key] = [*others, *now.values()]
        if changed is not None:
            changed()

    if not st.session_state.get(widget):  # after a reload, or when the page was left
        st.session_state.pop(sent_key, None)
    st.file_uploader(label, kinds, accept_multiple_files=several, key=widget, on_change=take, **layout)
    if refusal := st.session_state.get(refused):
        if too_large is not None:
            too_large(*refusal)
        else:
            st.warning(f"**{megabytes(refusal[1])} are too much for an upload** (at most {megabytes(LARGEST)}).")
        return []
    files: list[Upload] = [file for file in st.session_state.get(kept(key)) or [] if folder().has(file.id)]
    drawn = (
        {id(file) for file in st.session_state.get(sent_key, {}).values()} if st.session_state.get(widget) else set()
    )
    names = [file.name for file in files if id(file) not in drawn]
    if files:
        with st.container(horizontal=True, vertical_alignment="center"):
            if names:
                more = f" and {format_count(len(names) - NAMED, 'more file')}" if len(names) > NAMED else ""
                said = escape_markdown(", ".join(names[:NAMED]) + more)
                st.markdown(f":material/attach_file: {said}", width="content")
            st.caption(
                f"Kept on the server until {until}, for at most {HOURS} hours after your last visit.", width="content"
            )
            if remove is not None:
                st.button("Discard", icon=":material/delete:", key=f"{key}-remove", on_click=remove, type="tertiary")
            elif not drawn:
                st.button("Remove", key=f"{key}-remove", on_click=forget, args=(key,), type="tertiary")
    return files


def megabytes(size: int) -> str:
    """Return a number of bytes as `1.5 MB` or `12 kB`."""
    return f"{size / 2**20:,.1f} MB" if size >= 2**20 else f"{max(1, round(size / 1024)):,} kB"
