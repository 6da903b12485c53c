"""No name reaches a widget as Markdown: every string of every element of every page is looked at, whatever its kind."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.message import Message
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Block, Element, Node

from core.ports.store import Store
from core.robustness.stress.report import as_json
from core.services.robustness.stress_test_runs import run_settings
from db.engine import connect
from db.store import store_over
from pages._ui.robustness import controls
from pages._ui.shared.markdown import escape_markdown
from tests import hostile
from tests.pages.opened_page import press, run
from tests.pages.test_projects import uploaded
from tests.reports import report
from tests.templates import empty_database

PROJECT = 1
PLAIN = {
    "selectbox": {"options", "placeholder", "raw_value", "default"},
    "multiselect": {"options", "placeholder", "raw_values", "default"},
    "text": {"body"},
    "code": {"code_text"},
    "json": {"body"},
    "text_input": {"default", "placeholder", "value"},
    "text_area": {"default", "placeholder", "value"},
    "vega_lite_chart": {"spec"},
    "arrow_vega_lite_chart": {"spec"},
    "bidi_component": {"mixed", "json"},
    "page_link": {"page", "query_string"},
    "download_button": {"url"},
    "navigation": set(),
}
"""What Streamlit shows as it is (seen in a browser: tests/browser/test_scripts.py). All else is read as Markdown."""
EVERYWHERE = {"id", "key", "icon", "url", "element_id", "form_id", "user_key", "script_run_id", "page_script_hash"}


def nodes(of: Node) -> Iterator[Node]:
    yield of
    if isinstance(of, Block):
        for child in of.children.values():
            yield from nodes(child)


def strings(message: Message, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every string of a message, with the names of the fields it lies in."""
    for field, value in message.ListFields():
        here = (*path, field.name)
        values = value if field.is_repeated else [value]
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            values = [v for v in value.values() if isinstance(v, Message)]
        for one in values:
            if isinstance(one, Message):
                yield from strings(one, here)
            elif isinstance(one, str):
                yield here, one


def cells(node: Element) -> Iterator[str]:
    """The texts of a table: its cells are Markdown too, unlike those of a data frame."""
    frame = node.value
    yield from map(str, frame.columns)
    yield from (str(cell) for cell in frame.to_numpy().ravel())


def helps(columns: str) -> Iterator[str]:
    """What stands about the columns of a data frame: their help is Markdown, their name and cells are not."""
    for column in json.loads(columns or "{}").values():
        if column and column.get("help"):
            yield column["help"]


def shown_raw(at: AppTest) -> list[str]:
    """Each place where a name stands as it is though Streamlit would read it as Markdown."""
    found = []

    def look(where: str, text: str) -> None:
        if hit := hostile.RAW.search(text):
            found.append(f"{where}: {hit.group()!r} in {text[:200]!r}")

    for node in nodes(at._tree):
        proto = getattr(node, "proto", None)
        if proto is None:
            continue
        if node.type in ("table", "arrow_table"):
            for cell in cells(node):
                look("table", cell)
            continue
        if node.type in ("dataframe", "arrow_data_frame"):
            for text in helps(proto.columns):
                look("help of a column", text)
            continue
        for path, text in strings(proto):
            if node.type == "html":
                if "<img src=http" in text:
                    found.append(f"html: {text[:200]}")
            elif path[-1] not in EVERYWHERE | PLAIN.get(node.type, set()):
                look(f"{node.type}.{'.'.join(path)}", text)
    return found


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with the hostile project, which each test copies."""
    path = tmp_path_factory.mktemp("hostile") / "template.db"
    engine = connect(empty_database(path))
    store = store_over(engine)
    filled = hostile.fill(store)
    store.stress.save(filled, hostile.name(0, "run"), as_json(report(hostile.name(0, "run"))), run_settings(report()))
    engine.dispose()  # the last connection to go empties the log into the file
    assert filled == PROJECT
    return path


@pytest.fixture
def world(template: Path, store: Store, tmp_path: Path) -> None:
    """A copy of the hostile project in the store of the pages."""
    copied = sqlite3.connect(template)
    with sqlite3.connect(tmp_path / "errorscope.db") as target:
        copied.backup(target)
    target.close()
    copied.close()


def actions(at: AppTest) -> Iterator[tuple[str, Callable[[], object]]]:
    """What can be pressed or chosen now, under names that stay the same over runs. Nothing is deleted for good."""
    for widget in at.button_group:
        raw = {escape_markdown(value): value for value in hostile.SYSTEMS}
        for option in () if widget.disabled else widget.options:
            chosen = raw.get(option, option)
            value = chosen if widget._is_single_select else [chosen]
            yield f"{widget.key}={option}", lambda w=widget, v=value: w.set_value(v)
    for kind in ("toggle", "checkbox"):
        for widget in at.get(kind):
            yield f"{widget.key}={True}", lambda w=widget: w.set_value(not w.value)
    for widget in at.selectbox:
        if len(widget.options) > 1 and not widget.disabled:
            yield f"{widget.key or widget.label}", lambda w=widget: w.select_index(1)
    for widget in at.button:
        if not widget.disabled and not str(widget.key).startswith(NOT_PRESSED):
            yield f"{widget.key or widget.label}", widget.click


def crawl(at: AppTest, most: int) -> tuple[set[str], list[str]]:
    """What `shown_raw` finds here and after everything that can be pressed or chosen, and what that was."""
    found, done = set(shown_raw(at)), []
    while len(done) < most:
        act = next(((name, act) for name, act in actions(at) if name not in done), None)
        if act is None:
            break
        done.append(act[0])
        act[1]()
        at.run()
        assert not any("Something went wrong" in e.value for e in at.error), done
        found |= {f"after {done[-1]}: {where}" for where in shown_raw(at)}
    return found, done


NOT_PRESSED = (
    "delete-yes", "external-remove", "span-delete", "begin-sample", "lab-run", "suite-run", "combine-run", "lab-attack-run",
)  # fmt: skip
STATES = {
    "projects": [({}, 40, 0)],
    "compare": [({}, 8, 40)],
    "annotate": [({"errorscope_annotator": hostile.RATERS[0]}, 10, 0)],
    "models": [({}, 4, 0)],
    "labels_and_raters": [({}, 2, 20)],
    "calibrate": [({}, 1, 8)],
    "meta_evaluation": [({}, 2, 10)],
    "robustness": [
        ({"robustness-section": s, "robustness-metrics": ["chrf"], "lab-metrics": ["chrf"]}, 1, 9) for s in controls.SECTIONS
    ],
}  # fmt: skip
"""For each page: what its session holds, and how many choices are made after it is opened, in `make test` and in the
extended test (0: the first are all)."""


@pytest.mark.usefixtures("world")
@pytest.mark.parametrize(
    "pages",
    [
        ("projects", "compare"),
        ("annotate", "models", "labels_and_raters"),
        ("calibrate", "meta_evaluation"),
        ("robustness",),
    ],
    ids=" ".join,
)
def test_no_name_is_read_as_markdown(pages: Sequence[str]) -> None:
    for page in pages:
        for state, few, _ in STATES[page]:
            found, _ = crawl(run(page, PROJECT, state), few)
            assert not found, "\n".join(sorted(found))


@pytest.mark.extended
@pytest.mark.usefixtures("world")
@pytest.mark.parametrize("page", [page for page, states in STATES.items() if states[0][2]])
def test_no_name_is_read_as_markdown_after_any_choice(page: str) -> None:
    for state, _, most in STATES[page]:
        found, done = crawl(run(page, PROJECT, state), most)
        assert len(done) >= min(most, 3), done
        assert not found, "\n".join(sorted(found))


@pytest.mark.usefixtures("world")
def test_an_address_is_not_read_as_markdown() -> None:
    state = {"errorscope_annotator": hostile.RATERS[0]}
    for page, address in [
        ("projects", {}),
        ("annotate", {"batch": hostile.name(0, "none")}),
        ("annotate", {"batch": hostile.name(0, "batch")}),
        ("compare", {"doc": hostile.IMAGE, "segment": hostile.name(5, "none")}),
        ("robustness", {"run": hostile.IMAGE}),
    ]:
        for where in (PROJECT, hostile.name(0, "none")):
            at = run(page, where, state, **address)
            assert not shown_raw(at), (page, where)


def table(*, broken: bool = False, clash: bool = False) -> str:
    """A CSV file of outputs in which everything is mark-up, its columns too."""
    rows = io.StringIO()
    writer = csv.writer(rows)
    writer.writerow(
        ["doc_id", "segment_id", "system", "source", "output", *(hostile.name(k, "column") for k in (0, 1, 5))]
    )
    for i in range(3):
        for k, system in enumerate(hostile.SYSTEMS):
            number = hostile.name(0, "no number") if broken and i == 1 else i + k
            text = hostile.name(i + k, f"text {'other' if clash else ''}")
            writer.writerow(
                [hostile.DOCS[0], hostile.name(i, "G"), system, hostile.name(i, "s"), text, i + k, number, i]
            )
    return rows.getvalue()


def sent(content: str) -> AppTest:
    """The Projects page with this upload."""
    at = run("projects")
    at.button(key="begin-outputs").click().run()
    at.file_uploader[0].set_value([(f"{hostile.IMAGE.replace('/', '-')}.csv", content.encode(), "text/csv")]).run()
    return at


UPLOADS = [table(), table(broken=True), "doc_id,system\n1,2\n", "![x](http://a)\n\x00"]


def test_an_upload_is_not_read_as_markdown(store: Store) -> None:
    for content in UPLOADS:
        assert not shown_raw(sent(content)), content[:40]
    at = press(uploaded((f"{hostile.name(1, 'p')}.csv".replace("/", "-"), table())), "Import")
    assert not shown_raw(at)
    at = uploaded((f"{hostile.name(2, 'q')}.csv".replace("/", "-"), table(clash=True)), at=at)
    assert at.error
    assert not shown_raw(at)
    labels = (
        "system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity\n"
        f"{hostile.SYSTEMS[0]}\t{hostile.DOCS[0]}\t1\t7\t{hostile.RATERS[0]}\tQuelle\ta <v>bad</v> cat\t{hostile.name(1, 'category')}\tMajor\n"
        f"{hostile.SYSTEMS[1]}\t{hostile.DOCS[0]}\t1\t7\t{hostile.RATERS[1]}\tQuelle\tfine\tNo-error\t{hostile.name(0, 'severity')}\n"
    )
    at = uploaded((f"{hostile.name(4, 'm')}.tsv".replace("/", "-"), labels), what="labels")
    assert not shown_raw(at)


@pytest.mark.extended
def test_an_upload_is_not_read_as_markdown_after_any_choice(store: Store) -> None:
    for content in UPLOADS:
        found, _ = crawl(sent(content), 14)
        assert not found, "\n".join(sorted(found))


def test_raw_text_in_any_widget_is_found() -> None:
    """The search itself: each kind of widget that reads Markdown, with a raw name in it."""

    def script() -> None:
        import streamlit as st

        raw = "![x](http://example.invalid/seen.png)"
        simple = (
            st.markdown,
            st.caption,
            st.info,
            st.title,
            st.button,
            st.toggle,
            st.checkbox,
            st.popover,
            st.expander,
        )
        for draw in (*simple, st.metric):
            draw(raw, **({"value": 1} if draw is st.metric else {}))
        st.pills("a", [raw])
        st.segmented_control("b", [raw])
        st.radio("c", ["x"], captions=[raw])
        st.tabs([raw])
        st.table([{raw: "x"}])
        st.table([{"x": raw}])
        st.text_input("d", help=raw)
        st.select_slider("e", [raw, "f"])
        st.dataframe([{"x": 1}], column_config={"x": st.column_config.Column(help=raw)})
        st.progress(0.5, raw)
        st.toast(raw)
        st.html("<img src=http://example.invalid>")

    found = shown_raw(AppTest.from_function(script).run())
    assert len(found) >= 22, found
