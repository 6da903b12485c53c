"""The cases of an adversarial suite, from references, a file, or saved cases."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import streamlit as st

from core.formats.error_cases import AdversarialCase, phenomenon, read_cases
from core.formats.files import Upload
from core.formatting import format_number
from core.metrics import registry
from core.perturbations.registry import MENLI, PERTURBATIONS
from core.ports.projects import Project
from core.ports.robustness import KeptCase
from core.services.projects.task import output_languages
from core.services.robustness import cases as service
from core.services.robustness.break_metric import TextPair, verdict_of
from pages._ui.robustness import controls
from pages._ui.shared import drafts, errors, page, tables, wiring
from pages._ui.shared.files import download, file_name
from pages._ui.shared.long_jobs import run_cached
from pages._ui.shared.markdown import doc_link, escape_markdown
from pages._ui.shared.page import definition

SECOND, OUTPUTS, FILE = "A second reference", "Outputs of a system", "A file in MENLI’s format"

MENLI_FILE = f"One case per row: the reference or source, the good text, the changed text and the kind of error. See {doc_link('docs/menli.md')}."
KINDS = ["csv", "tsv", "gz", "jsonl", "json"]
USUAL = ("bleu", "chrf", "ter", "rouge1", "rougeL", "bertscore", "bartscore", "nli")


class SuiteOptions(NamedTuple):
    """The options of a suite: where its cases come from, and the metrics."""

    origin: str
    system: str
    names: tuple[str, ...]
    seed: int
    most: int
    free: bool
    fixed: bool
    file: Upload | None
    metrics: tuple[str, ...]


class SuiteCases(NamedTuple):
    """The cases, warnings, and how they were made from the project (None for a file)."""

    cases: tuple[AdversarialCase, ...]
    notes: tuple[str, ...]
    made: service.BuiltSuite | None


def suite_form(project: Project) -> SuiteOptions | None:
    data = wiring.sampled(project)
    several = sum(len(s.references) > 1 for s in data.segments)
    with_one = sum(bool(s.references) for s in data.segments)
    origins = [*([SECOND] if several else []), *([OUTPUTS] if with_one and project.systems else [])]
    origins += [FILE] if wiring.identity().manages else []
    if not origins:
        page.info("No segment of this project has a reference, which cases are made from. A manager can upload cases.")
        return None
    with st.container(border=True):
        if not with_one:
            st.caption("No segment of this project has a reference: cases need a file.")
        left, middle, right = st.columns(3, vertical_alignment="bottom")
        origin = left.selectbox(
            "Good texts (paraphrases) from", origins, key=drafts.kept(f"suite-origin-{project.id}"),
            help=definition("Adversarial case"),
        )  # fmt: skip
        system, file, names, seed, most, fixed = "", None, tuple(MENLI), 0, 0, False
        free = middle.selectbox("Compared with", 
            ["The reference", "The source"], key=drafts.kept("suite-against"),
            help="With the source, the good text is the reference, and the changed text is the paraphrase with one error added.",
        ) == "The source"  # fmt: skip
        if origin == FILE:
            file = next(iter(drafts.uploads("CSV in MENLI’s format", KINDS, "suite-file", help=MENLI_FILE)), None)
            fixed = not free and st.toggle(
                "Use the corrected columns (hyp_para_fixed, hyp_adv_based_fixed)", key=drafts.kept("suite-fixed")
            )
        else:
            if origin == OUTPUTS:
                system = right.selectbox("System", project.systems, key=drafts.kept(f"suite-system-{project.id}"))
            names = tuple(
                st.multiselect(
                    "Kinds of error", PERTURBATIONS, list(MENLI), format_func=phenomenon, key=drafts.kept("suite-names")
                )
            )
            one, two = st.columns(2)
            top = max(1, with_one)
            key = drafts.kept(f"suite-most-{project.id}", min(200, top), lambda most: most <= top)
            most = int(one.number_input("Maximum segments", 1, top, min(200, top), key=key))
            seed = int(two.number_input("Seed", 0, 2**31 - 1, 0, key=drafts.kept("suite-seed")))
        languages = output_languages(data)
        metrics = controls.choose_metrics("suite-metrics", USUAL, languages)
        controls.warn_of_language(metrics, languages)
        lacking = not metrics or not names or (origin == FILE and file is None)
        if st.button("Make and score cases", type="primary", disabled=lacking, key="suite-run"):
            chosen = tuple(m.spec.name for m in metrics)
            return SuiteOptions(origin, system, names, seed, most, free, fixed, file, chosen)
    return None


def cases_of(project: Project, asked: SuiteOptions) -> SuiteCases | None:
    """Return the cases, made or read from a file; None if that was stopped."""
    if asked.file is not None:
        file = asked.file
        key = ("suite-file", hashlib.sha256(file.data).hexdigest(), file.name, asked.free, asked.fixed)

        def read(progress: object) -> SuiteCases:
            cases = read_cases([file], reference_free=asked.free, fixed=asked.fixed)
            return SuiteCases(cases.cases, cases.notes, None)

        return run_cached(key, "Reading the file …", read)
    data = wiring.sampled(project)
    segments = service.drawn(data.segments, asked.most, asked.seed)
    written = service.outputs_of(data, asked.system) if asked.system else None
    texts = hash((tuple(segments), tuple((written or {}).items())))
    made = run_cached(
        ("suite", project.id, texts, asked.names, asked.seed, asked.free), "Making the cases …",
        lambda progress: service.make(segments, asked.names, asked.seed, written, reference_free=asked.free, progress=progress),
    )  # fmt: skip
    return None if made is None else SuiteCases(made.cases, (), made)


AT_ONCE = 10


def draw_saved_cases(project: Project) -> None:
    """Draw the section."""
    everything = wiring.store().cases.list(project.id)
    if not everything:
        st.info("This project has no saved cases yet.", icon=":material/bookmark:")
        st.markdown(
            "Save cases under *Break a metric*, *Adversarial suite* or *Stress tests*: they appear here with all scores."
        )
        return
    names = list(dict.fromkeys(case.collection for case in everything))
    if st.session_state.get(drafts.kept("robustness-shown")) not in names:
        st.session_state.pop("robustness-shown", None)
    name = st.selectbox("Collection", names, key="robustness-shown", width=320)
    mine = [case for case in everything if case.collection == name]
    _files(project, name, mine)
    for case in controls.paged(mine, AT_ONCE, "Page, of {}", f"robustness-page-{name}", 160):
        _case(project, case)


def _files(project: Project, name: str, mine: list[KeptCase]) -> None:
    menli, left_out = service.as_menli(mine)
    stem = f"{file_name(project.name)}.{file_name(name)}"
    with st.container(horizontal=True, vertical_alignment="center"):
        download("CSV with scores", service.as_csv(mine), f"{stem}.scores.csv", "robustness-file-scores")
        download("CSV in MENLI’s format", menli, f"{stem}.menli.csv", "robustness-file-menli")
        if left_out:
            st.caption(f"{left_out} of {len(mine)} cases are not in MENLI’s CSV: it needs a reference and two texts.")


def _case(project: Project, case: KeptCase) -> None:
    texts = TextPair(case.source, case.reference, case.good, case.changed)
    with st.container(border=True):
        st.markdown(f"**{escape_markdown(case.phenomenon)}** · {escape_markdown(case.what)}")
        if anchor := case.reference or case.source:
            st.html(controls.diff_html(anchor, anchor, "reference" if case.reference else "source"))
        st.html(controls.diff_html(case.good, case.changed, "good text → changed text"))
        tables.text_table(
            [
                {"metric": registry.label_of(s.metric, s.signature), "good": format_number(s.good, leading_zero=True), "changed": format_number(s.changed, leading_zero=True), "verdict": verdict_of(s)}
                for s in case.scores
            ]
        )  # fmt: skip
        with st.container(horizontal=True):
            controls.open_button(texts, f"open-kept-{case.id}", "Open")
            if wiring.may_change(project.id):
                remove = errors.guarded(wiring.store().cases.remove)
                args = (project.id, case.id or 0)
                st.button("Delete", on_click=remove, args=args, key=f"remove-kept-{case.id}", icon=":material/delete:")
        with st.expander("Signatures"):
            st.text("\n".join(s.signature for s in case.scores))
