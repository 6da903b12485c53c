"""The suite: cases out of the project's references or from a file, how many of them each metric gets right, and which not."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import pandas as pd
import streamlit as st

from core.formats.adversarial import Case, phenomenon, read_cases
from core.formats.files import Upload
from core.metrics import registry
from core.plots import menli as plots
from core.ports import Project, Store
from core.services import adversarial_report as report
from core.services import robustness_cases as service
from core.services.adversarial import ALL, Answered, Failure, Remembered, Row, answer, failed, failures, table
from core.services.robustness import telling
from core.stress.registry import MENLI, PERTURBATIONS
from pages._ui import exports, tables, wiring
from pages._ui import robustness_parts as parts
from pages._ui.errors import plain
from pages._ui.lambda_work import afresh, worked

SECOND, OUTPUTS, FILE = "a second reference", "a system’s outputs", "a file in MENLI’s form"
USUAL = ("bleu", "chrf", "ter", "rouge1", "rougeL", "bertscore", "bartscore", "nli")
DRAWS, EACH, AT_ONCE = 1000, 50, 5
_ASKED, _MEMORY = "robustness_asked", "robustness_memory"


class Asked(NamedTuple):
    """What is to be made and scored: the last press of the button."""

    origin: str
    system: str
    names: tuple[str, ...]
    seed: int
    most: int
    free: bool
    fixed: bool
    file: Upload | None
    metrics: tuple[str, ...]


class Ready(NamedTuple):
    """The cases, what is odd about them, and what was made of the project, if anything was."""

    cases: tuple[Case, ...]
    notes: tuple[str, ...]
    made: service.Made | None


def draw(store: Store, project: Project) -> None:
    """The section."""
    asked = _form(project)
    key = f"{_ASKED}-{project.id}"
    if asked is not None:
        st.session_state[key] = asked
        afresh()
    asked = st.session_state.get(key)
    if asked is None:
        st.caption(
            "Each case asks a metric which of two texts is better: one that says the same in other words, or one with a planted error."
        )
        return
    ready = cases_of(project, asked)
    if ready is None:
        return
    if not ready.cases:
        st.info("Not a single case could be made. Why, the table says.", icon=":material/info:")
    else:
        results(project, asked, ready)
    if ready.made:
        _untouched(project, ready.made)


def _form(project: Project) -> Asked | None:
    data = wiring.dataset(project)
    several = sum(len(s.references) > 1 for s in data.segments)
    with_one = sum(bool(s.references) for s in data.segments)
    origins = [*([SECOND] if several else []), *([OUTPUTS] if with_one and project.systems else []), FILE]
    with st.container(border=True):
        if not with_one:
            st.caption("No segment of this project has a reference, so cases can come from a file only.")
        left, middle, right = st.columns(3, vertical_alignment="bottom")
        origin = left.selectbox(
            "Paraphrases from", origins, key="suite-origin",
            help="A case is a text that is right in other words, beside one with an error. The right one is a paraphrase of the reference.",
        )  # fmt: skip
        system, file, names, seed, most, fixed = "", None, tuple(MENLI), 0, 0, False
        free = middle.selectbox("Held against", ["the reference", "the source"], key="suite-against") == "the source"
        if origin == FILE:
            sent = st.file_uploader("MENLI’s CSV", ["csv", "tsv", "gz", "jsonl", "json"], key="suite-file")
            file = Upload(sent.name, sent.getvalue()) if sent else None
            fixed = not free and st.toggle(
                "The mended columns (hyp_para_fixed, hyp_adv_based_fixed)", key="suite-fixed"
            )
        else:
            if origin == OUTPUTS:
                system = right.selectbox("System", project.systems, key="suite-system")
            names = tuple(
                st.multiselect("Phenomena", list(PERTURBATIONS), list(MENLI), format_func=phenomenon, key="suite-names")
            )
            one, two = st.columns(2)
            most = int(
                one.number_input("Segments, at most", 1, max(1, with_one), min(200, max(1, with_one)), key="suite-most")
            )
            seed = int(two.number_input("Seed", 0, 2**31 - 1, 0, key="suite-seed"))
        metrics = parts.ready("suite-metrics", USUAL)
        lacking = not metrics or not names or (origin == FILE and file is None)
        if st.button("Make the cases and score them", type="primary", disabled=lacking, key="suite-run"):
            chosen = tuple(m.spec.name for m in metrics)
            return Asked(origin, system, names, seed, most, free, fixed, file, chosen)
    return None


def cases_of(project: Project, asked: Asked) -> Ready | None:
    """The cases that were asked for, made or read; None where that was stopped."""
    if asked.file is not None:
        file = asked.file
        key = ("suite-file", hashlib.sha256(file.data).hexdigest(), file.name, asked.free, asked.fixed)

        def read(tell: object) -> Ready:
            found = read_cases([file], reference_free=asked.free, fixed=asked.fixed)
            return Ready(found.cases, found.notes, None)

        return worked(key, "Reading the file …", read)
    data = wiring.dataset(project)
    segments = service.drawn(data.segments, asked.most, asked.seed)
    written = service.outputs_of(data, asked.system) if asked.system else None
    texts = hash((tuple(segments), tuple((written or {}).items())))
    made = worked(
        ("suite", project.id, texts, asked.names, asked.seed, asked.free), "Making the cases …",
        lambda tell: service.make(segments, asked.names, asked.seed, written, reference_free=asked.free, tell=tell),
    )  # fmt: skip
    return None if made is None else Ready(made.cases, (), made)


def results(project: Project, asked: Asked, ready: Ready) -> None:
    """Accuracy by phenomenon and metric, and the cases behind it."""
    metrics = registry.chosen(asked.metrics)
    digest = hashlib.sha256(repr(ready.cases).encode("utf-8", "surrogatepass")).hexdigest()
    key = ("suite-scores", digest, tuple(m.signature() for m in metrics))
    cases = ready.cases
    with st.spinner("Scoring …"):
        answered = worked(
            key, f"Scoring {len(cases):,} cases …", lambda tell: answer(cases, metrics, telling(tell), memory(digest)),
            lambda found: not failed(found),
        )  # fmt: skip
    if answered is None:
        return
    lost = tuple(v.reason for a in answered for v in (*a.good, *a.bad) if v.status == "error")
    rows = worked((*key, "table", lost), "Computing intervals …", lambda tell: table(cases, answered, draws=DRAWS))
    if rows is None:
        return
    labels = {a.spec.name: a.spec.label for a in answered}
    if said := report.headline(rows, labels):
        st.markdown(f"#### {plain(said)}")
    against = "the source" if asked.free else "the reference"
    st.caption(
        f"{plain(report.counted(rows, labels))} Share of cases in which the right text scores strictly better, held against {against}; averages give each phenomenon the same weight. Point at a cell for its interval."
    )
    parts.wide(plots.heatmap(pd.DataFrame(rows)), "suite-heatmap")
    with st.expander("As numbers, with 95 % intervals"):
        _numbers(rows)
    for note in ready.notes:
        st.caption(plain(note))
    _downloads(project, ready, rows, failures(cases, answered))
    st.subheader("Cases that a metric gets wrong", anchor=False)
    _failures(project, cases, answered, digest, asked.free)


def memory(digest: str, name: str = "suite") -> Remembered:
    """What is scored of these cases already, in this session: after a stop, the work goes on from there. Of other cases
    nothing is remembered."""
    kept = st.session_state.get(f"{_MEMORY}-{name}")
    if kept is None or kept[0] != digest:
        kept = st.session_state[f"{_MEMORY}-{name}"] = (digest, Remembered())
    found: Remembered = kept[1]
    return found


def _numbers(rows: list[Row]) -> None:
    metrics = list(dict.fromkeys(r.metric for r in rows))
    by_place = {(r.phenomenon, r.metric): r for r in rows}
    names = [line[0] for line in report.grid(rows)[1:]]
    shown = []
    for name in names:
        line = {"phenomenon": name, "cases": str(by_place[name, metrics[0]].cases)}
        for metric in metrics:
            r = by_place[name, metric]
            between = "" if r.low is None else f" [{report.percent(r.low)}, {report.percent(r.high)}]"
            line[metric] = report.percent(r.accuracy) + between
        shown.append(line)
    st.dataframe(pd.DataFrame(shown), hide_index=True, width="stretch", height="content")
    st.text("\n".join(dict.fromkeys(r.signature for r in rows if r.phenomenon == ALL)))


def _downloads(project: Project, ready: Ready, rows: list[Row], failed: list[Failure]) -> None:
    stem = f"{exports.file_name(project.name)}.adversarial"
    notes = [*ready.notes, *([ready.made.signature] if ready.made else [])]
    files = [
        ("CSV", f"{stem}.csv", "text/csv", report.as_csv(rows)),
        ("HTML page", f"{stem}.html", "text/html", report.as_html(rows, failed, notes)),
    ]
    if ready.made:
        files.append(("The cases, MENLI’s CSV", f"{stem}.cases.csv", "text/csv", ready.made.csv))
    with st.container(horizontal=True):
        for label, name, mime, text in files:
            st.download_button(
                label, text.encode("utf-8", "surrogatepass"), name, mime, on_click="ignore", icon=":material/download:",
                key=f"suite-{label}",
            )  # fmt: skip


def _failures(project: Project, cases: tuple[Case, ...], answered: list[Answered], digest: str, free: bool) -> None:
    labels = {a.spec.name: a.spec.label for a in answered}
    left, middle, right = st.columns(3)
    metric = left.selectbox("Failed by", list(labels), format_func=labels.__getitem__, key="suite-failed")
    others = ["", *(name for name in labels if name != metric)]
    solver = middle.selectbox(
        "and solved by", others, format_func=lambda n: labels.get(n, "anybody or nobody"), key=f"suite-solved-{metric}"
    )
    mine = [f for f in failures(cases, answered, each=EACH, solved_by=solver) if f.metric == metric]
    kinds = ["", *dict.fromkeys(f.phenomenon for f in mine)]
    kind = right.selectbox("Phenomenon", kinds, format_func=lambda k: k or "any", key=f"suite-kind-{metric}-{solver}")
    mine = [f for f in mine if not kind or f.phenomenon == kind]
    if not mine:
        st.info("There is no such case.", icon=":material/check:")
        return
    pages = -(-len(mine) // AT_ONCE)
    words = f"Page, of {pages}: {len(mine)} cases, at most {EACH} of a phenomenon"
    at = (
        int(st.number_input(words, 1, pages, key=f"suite-page-{digest[:8]}-{metric}-{solver}-{kind}", width=320))
        if pages > 1
        else 1
    )
    for n, failure in enumerate(mine[(at - 1) * AT_ONCE : at * AT_ONCE]):
        _failure(project, failure, cases, answered, labels, f"suite-{n}", free)


def _failure(
    project: Project, failure: Failure, cases: tuple[Case, ...], answered: list[Answered], labels: dict[str, str], key: str, free: bool
) -> None:  # fmt: skip
    case = service.case_of(failure, cases)
    texts = service.texts_of(case)
    with st.container(border=True):
        st.markdown(f"**{plain(failure.phenomenon)}** · {plain(failure.id)}")
        left, right = st.columns(2)
        left.caption("source" if free else "reference")
        left.text(failure.anchor)
        left.caption("right")
        left.text(failure.good)
        with right:
            error = None if free or not texts.reference else texts.reference
            st.html(
                parts.compared(
                    error or failure.good, failure.bad, "wrong, beside the " + ("reference" if error else "right text")
                )
            )
            tables.reading(
                [
                    {"metric": labels[name], "right": _number(good), "wrong": _number(bad)}
                    for name, (good, bad) in failure.scores.items()
                ]
            )  # fmt: skip
        st.button(
            "Open in Break a metric",
            on_click=parts.open_case,
            args=(texts,),
            key=f"open-{key}",
            icon=":material/open_in_full:",
        )
        scores = service.scores_of(case, cases, answered)
        parts.keep(project, texts, scores, failure.phenomenon, key, error_in=error)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _untouched(project: Project, made: service.Made) -> None:
    lost = sum(c.untouched for c in made.counts)
    with st.expander(f"{len(made.cases):,} cases made; {lost:,} times a phenomenon could not be made in a segment"):
        tables.reading(
            [
                {
                    "phenomenon": c.phenomenon, "cases": str(c.cases), "without": str(c.untouched),
                    "why": "; ".join(f"{n} × {reason}" for reason, n in c.reasons),
                }
                for c in made.counts
            ]
        )  # fmt: skip
        st.text(made.signature)
