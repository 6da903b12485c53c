"""What other programs computed: external scores with their names and directions, and error spans from files as layers of a project."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.formats.files import Upload, stem
from core.formats.problems import shown
from core.formats.spans.layer_file import LayerFile
from core.formats.spans.layer_formats import FORMATS
from core.formatting import format_count
from core.metrics.base import MARK
from core.ports.projects import Project
from core.ports.scores import ExternalMetric, StoredLayer
from core.progress import Progress
from core.services.spans import layers as service
from pages._ui.shared import drafts, errors, page, wiring
from pages._ui.shared.files import download, file_name
from pages._ui.shared.long_jobs import run_cached, showing_progress
from pages._ui.shared.markdown import escape_markdown

DIRECTIONS = {True: "higher is better", False: "lower is better"}


def ask(name: str, higher: bool, of: str, key: str, places: Sequence[DeltaGenerator]) -> tuple[str, bool]:
    """Draw the fields for the scores of a column or file; return name and direction."""
    metric_name = places[0].text_input(
        f"Name of the metric in {escape_markdown(of)}", name, key=drafts.kept(f"{key}-metric", name), max_chars=120
    )
    return metric_name.strip(), drafts.select("Direction", DIRECTIONS, higher, f"{key}-direction", places[1])


def draw_external_scores(project: Project) -> None:
    """Draw the external metrics of a project, each with a Remove button; nothing if there are none."""
    metrics = wiring.store().scores.external(project.id)
    if not metrics:
        return
    st.markdown("**External scores**")
    for metric in metrics:
        said, action = st.columns([5, 1], vertical_alignment="center")
        files = ", ".join(file.name for file in metric.files)
        said.markdown(f"{escape_markdown(metric.name)} :gray-badge[{MARK}]  \n:small[{escape_markdown(facts(metric, project))}]",
                      help=f"From {escape_markdown(files)}. Signature: {escape_markdown(metric.signature)}")  # fmt: skip
        words = (
            f"{format_count(metric.n, 'score')} of **{escape_markdown(metric.name)}** in **{escape_markdown(project.name)}** will be "
            "deleted for all users of the project. They were computed by another program: to restore them, import the file again."
        )
        remove = partial(wiring.store().scores.remove_external, project.id, metric.name)
        with action:
            page.ask_first(
                "Delete",
                words,
                "Delete metric",
                remove,
                f"external-remove-{project.id}-{metric.name}",
                icon=":material/delete:",
            )


def facts(metric: ExternalMetric, project: Project) -> str:
    """Return `higher is better · 160 of 160 outputs · from comet.seg.score`; more than two files are counted."""
    names = [file.name for file in metric.files]
    files = ", ".join(names[:2]) + (f" and {format_count(len(names) - 2, 'more file')}" if len(names) > 2 else "")
    return f"{DIRECTIONS[metric.higher_is_better]} · {metric.n:,} of {format_count(project.n_outputs, 'output')} · from {files}"


LISTED = 200
"""Rows of the table of what is left out; the CSV file has all."""


def draw_span_layers(project: Project) -> None:
    """Draw the panel: the imported layers, and for managers the import."""
    layers = wiring.store().spans.list(project.id)
    manages = wiring.may_change(project.id)
    if not layers and not manages:
        return
    panel = st.expander(
        "Error spans from files", icon=":material/format_ink_highlighter:", key=f"span-panel-{project.id}", on_change="rerun"
    )  # fmt: skip
    if not panel.open:
        return
    with panel, errors.boundary():
        page.caption(
            "Error spans of judges and other programs (xCOMET, GEMBA, GemSpanEval, WMT25), as layers beside those of annotators: docs/spans.md"
        )
        for layer in layers:
            _draw_layer(project, layer, manages=manages)
        if manages:
            _draw_import(project)


def _draw_layer(project: Project, layer: StoredLayer, *, manages: bool) -> None:
    said, actions = st.columns([3, 2], vertical_alignment="center")
    left_out = f" · left out: {sum(layer.left_out.values()):,}" if layer.left_out else ""
    text = f"{format_count(layer.spans, 'error span')} in {layer.outputs:,} of {format_count(project.n_outputs, 'output')} · from {layer.provenance.get('file', 'a file')}{left_out}"
    facts = [f"{name}: {value}" for name, value in layer.provenance.items()]
    facts += [f"left out: {line}" for line in service.counts_of(layer.left_out)]
    said.markdown(
        f"{escape_markdown(layer.name)}  \n:small[{escape_markdown(text)}]",
        help="  \n".join(map(escape_markdown, facts)),
    )
    with actions, st.container(horizontal=True, horizontal_alignment="right"):
        with st.popover("Download", icon=":material/download:"):
            for name, of in FORMATS.items():
                if of.write:
                    file = f"{file_name(project.name)}.{file_name(layer.name)}.{of.ending}"
                    make = partial(_written, project.id, f"file:{layer.name}", name)
                    download(of.label, make, file, f"span-download-{project.id}-{layer.name}-{name}", help=of.holds)
        if manages:
            words = (
                f"{format_count(layer.spans, 'error span')} of **{escape_markdown(layer.name)}** in **{escape_markdown(project.name)}** "
                "will be deleted for all users of the project. To restore them, import the file again."
            )
            remove = partial(wiring.store().spans.remove, project.id, layer.name)
            key = f"span-delete-{project.id}-{layer.name}"
            page.ask_first("Delete", words, "Delete error spans", remove, key, icon=":material/delete:")


def _written(project_id: int, layer: str, format: str) -> str:
    return service.export_layer(wiring.store(), project_id, layer, format).texts[0]


def _draw_import(project: Project) -> None:
    imported = f"span-imports-{project.id}"
    key = f"span-file-{project.id}-{st.session_state.setdefault(imported, 0)}"  # another field after each import: it is empty
    kinds = ["json", "jsonl", "tsv", "gz", "txt"]
    sent = drafts.uploads("Add error spans: JSON, JSON Lines or TSV", kinds, key, until="imported or removed")
    if not sent:
        return
    file = sent[0]
    result = _read(project, file)
    if result is None:
        return
    format, read = result
    of_file = f"{project.id}-{file.id}"
    name = st.text_input("Name of the layer", stem(file.name), key=drafts.kept(f"span-name-{of_file}"), max_chars=120)
    st.markdown(f"**{escape_markdown(shown(file.name))}** ({FORMATS[format].label}): {service.summary(read)}.")
    for line in service.counts_of(read.notes):
        page.caption(f"{line}.")
    if read.left_out:
        with st.expander(
            f"Left out: {len(read.left_out):,} ({'; '.join(map(escape_markdown, service.counts_of(read.reasons)))})"
        ):
            st.dataframe([of._asdict() for of in read.left_out[:LISTED]], hide_index=True)
            download(
                "All as CSV",
                partial(service.left_out_csv, read),
                f"{file_name(name)}.left-out.csv",
                f"span-left-out-{of_file}",
            )
    if st.button("Import error spans", type="primary", key=f"span-import-{of_file}", disabled=not name.strip()):
        with showing_progress("Importing error spans …") as progress:
            info = service.import_file(wiring.store(), project.id, name.strip(), file, format, read, progress)
        drafts.forget(key)
        st.session_state[imported] += 1
        st.toast(f"Imported “{escape_markdown(info.label)}”", icon=":material/check_circle:")
        st.rerun()


def _read(project: Project, file: Upload) -> tuple[str, LayerFile] | None:
    store, version = wiring.store(), wiring.version(project)

    def work(_: Progress) -> tuple[str, LayerFile]:
        return service.read_file(store, project.id, file)

    return run_cached(("span-file", *version, file.sha256(), file.name), "Reading the error spans …", work)
