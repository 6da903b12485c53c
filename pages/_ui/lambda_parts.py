"""The parts of λ Studio: who is to be agreed with, what was found in words and numbers, and what is saved."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence

import streamlit as st

from core.calibration.calibrate import ENOUGH_OUTPUTS, ENOUGH_RATERS, Calibration, Point
from core.calibration.presets import PRESETS
from core.data import Dataset, Judgement
from core.formats.problems import counted
from core.mqm.schemes import SCHEMES, Scheme
from core.plots.calibration import MEASURE_NAMES, lambda_text, plateau_text
from core.ports import Project, SavedBatch, SavedLambda, Store
from core.services import calibration as service
from core.services import judgements as numbers
from core.services.calibration import Choice, People
from core.services.judgements import Way
from core.services.view import Column
from core.stats.correlation import Group, Measure
from pages._ui import errors, state, wiring
from pages._ui.lambda_work import worked

LABELS, NUMBERS = "MQM labels", "numbers"
FIXED = (
    "Bradley–Terry strengths are of systems, and are held fixed: intervals say how much the metric moves with the segments, not "
    "how sure the strengths are."
)
_OWN = "errorscope_schemes"
MEASURES: dict[Measure, str] = {"kendall": "τ", "acc_eq": "acc_eq", "spearman": "ρ", "pearson": "r"}
GROUPS: dict[Group, str] = {
    "pooled": "all outputs pooled",
    "segment": "within each segment, averaged",
    "system": "system means",
}


def refinement(columns: Sequence[Column]) -> Column:
    """Which BARTScore++ is calibrated; asked only when there are several."""
    if len(columns) == 1:
        return columns[0]
    by_name = {c.name: c for c in columns}
    return by_name[st.selectbox("Metric", list(by_name), format_func=lambda n: by_name[n].label, key="lambda-metric")]


def people(store: Store, project: Project, dataset: Dataset) -> People | None:
    """Labels of chosen annotators under a weight scheme, numbers raters gave, or a score of the upload; None, and why, when
    there is nothing of that."""
    raters, given = store.labels.raters(project.id), wiring.judgements(project)
    kinds: list[tuple[str, str, Way | None]] = [(LABELS, "", None)] if raters else []
    made = [(name, way) for name, possible in numbers.ways(given).items() for way in possible]
    kinds += [(NUMBERS, name, way) for name, way in made]
    names = {name + numbers.ENDINGS[way] for name, way in made if way != "strengths"}
    kinds += [("score", name, None) for name in project.human_scores if name not in names]
    if not kinds:
        st.info("Nobody has labelled an output yet, and no human score came with the upload.", icon=":material/info:")
        st.page_link("pages/annotate.py", label="Label outputs on Annotate", icon=":material/edit_note:")
        return None
    first, second, third = st.columns([2, 2, 1] if given else [1, 2, 1])
    key = f"lambda-people-{project.id}"
    kind, name, way = first.selectbox("What people said", kinds, format_func=_kind, key=key)
    if kind == LABELS:
        chosen = second.multiselect("Annotators", raters, default=raters, key=f"lambda-raters-{project.id}")
        known = schemes(store, project)
        scheme = third.selectbox(
            "Weights", list(known), key="lambda-scheme",
            help="Major 5, Minor 1, and so on: named MQM schemes, and your own, made on λ Studio",
        )  # fmt: skip
        if not chosen:
            st.info("Choose at least one annotator.", icon=":material/info:")
            return None
        return service.from_labels(store, project, chosen, known[scheme])
    if way in ("wins", "strengths"):
        second.caption("Ranks: 1 is best. The score made of them is higher for the better one.")
        return _of_ranks(given, name, way, dataset)
    higher = second.toggle("Higher is better", value=True, key=f"lambda-higher-{project.id}")
    if way is not None:
        return service.from_judgements(given, name, way, dataset, higher_is_better=higher)
    return service.from_score(dataset, name, higher_is_better=higher)


def _kind(kind: tuple[str, str, Way | None]) -> str:
    return f"{kind[1]}: {numbers.WAYS[kind[2]]}" if kind[2] else kind[1] or kind[0]


def _of_ranks(given: Sequence[Judgement], name: str, way: Way, dataset: Dataset) -> People | None:
    with errors.boundary():
        return service.from_judgements(given, name, way, dataset)
    return None


def choice(people: People | None = None) -> Choice:
    """The measure of agreement, and over what; where only systems have scores, over their means."""
    groups: list[Group] = ["system"] if people is not None and people.of_systems else list(GROUPS)
    left, right = st.columns(2)
    measure = left.selectbox("Agreement", list(MEASURES), format_func=lambda m: MEASURE_NAMES[m], key="lambda-measure")
    group = right.selectbox("Compared", groups, format_func=GROUPS.__getitem__, key="lambda-group")
    return Choice(measure, group)


def batch(store: Store, project: Project, data: Sequence[Point]) -> SavedBatch | None:
    """A batch to fit on alone, by its probabilities, or None for all outputs; asked only where one has been labelled."""
    keys = {p.key for p in data}
    there = {b.name: n for b in store.batches.list(project.id) if (n := sum(c.key in keys for c in b.outputs)) > 1}
    if not there:
        return None

    def words(name: str | None) -> str:
        return f"batch “{name}”, {there[name]} outputs" if name else f"all rated outputs, {len(keys)}"

    name = st.selectbox(
        "Outputs", [None, *there], format_func=words, key=f"lambda-batch-{project.id}",
        help="A batch was drawn with known probabilities. Fitted on it alone, each output counts 1/probability and a pair the "
        "product of both, so that λ is the one for all outputs the batch was drawn from, and not for what was drawn more readily.",
    )  # fmt: skip
    return next((b for b in store.batches.list(project.id) if b.name == name), None)


def schemes(store: Store, project: Project) -> dict[str, Scheme]:
    """Weight schemes by the name they are shown under: ours, then those of this session and of saved λs."""
    return {scheme_name(s): s for s in (*SCHEMES.values(), *own(project), *service.saved_schemes(store, project))}


def scheme_name(scheme: Scheme) -> str:
    return scheme.name if scheme.name in SCHEMES else f"{scheme.name} v{scheme.version}"


def own(project: Project) -> list[Scheme]:
    """The schemes that were made in this session, for this project."""
    made: dict[int, list[Scheme]] = st.session_state.setdefault(_OWN, {})
    return made.setdefault(project.id, [])


def fit(data: tuple[Point, ...], choice: Choice) -> Calibration | None:
    """The fit, kept for as long as nothing of it changes; None where it was stopped."""
    words = f"Fitting λ on {len(data)} outputs, and again on {choice.draws} resamples of them …"
    return worked(("fit", digest(data), choice), words, lambda tell: service.fit(data, choice, PRESETS, tell))


def digest(*what: object) -> str:
    """What a kept result depends on, as SHA-256 (hex)."""
    return hashlib.sha256(repr(what).encode("utf-8", "surrogatepass")).hexdigest()


def number(value: float | None) -> str:
    """Three decimals, without a nought before the point: .434, −.021, 10.500."""
    return "undefined" if value is None else re.sub(r"^(-?)0\.", r"\1.", f"{value:.3f}").replace("-", "−")


def interval(pair: tuple[float, float] | None) -> str:
    return f" [{lambda_text(pair[0])}, {lambda_text(pair[1])}]" if pair else ""


def sentence(found: Calibration, people: People, choice: Choice) -> str:
    """The result in one sentence, as Markdown."""
    sign = MEASURES[choice.measure]
    beside = f"λ = 1: {number(found.at['1'])}; BARTScore: {number(found.at['vanilla'])}"
    return (
        f"#### λ = {lambda_text(found.lam)}{interval(found.ci)} agrees best with {people.words} on {found.n} outputs: "
        f"{sign} = {number(found.agreement)}\n{errors.plain(beside)}"
    )


def recommended(found: Calibration) -> None:
    """The λ to use, and why."""
    advice = found.advice
    head = "No λ is recommended" if advice.lam is None else f"Recommended: λ = {lambda_text(advice.lam)}"
    text = f"**{head}.** {errors.plain(advice.why)}"
    if advice.lam is not None and advice.lam != found.lam:
        st.info(text, icon=":material/info:")
    else:
        st.markdown(text)


def to_save(found: Calibration) -> float:
    """The best λ or the one recommended in its place, which stands first."""
    advised = found.advice.lam
    if advised is None or advised == found.lam:
        return found.lam
    words = {
        advised: f"λ = {lambda_text(advised)}, recommended",
        found.lam: f"λ = {lambda_text(found.lam)}, the best here",
    }
    picked: float = st.radio(
        "λ to save", list(words), format_func=words.__getitem__, horizontal=True, key="lambda-to-save"
    )
    return picked


def missing(found: Calibration, people: People) -> None:
    """Plain warnings, and the way to what is missing."""
    raters = len(people.raters) or None
    notes = list(found.notes)
    if raters is not None and raters < ENOUGH_RATERS and not any("fewer than" in n for n in notes):
        notes.append("Labels of one annotator only; 2 or 3 are advised.")
    if notes:
        st.warning("  \n".join(errors.plain(n) for n in notes), icon=":material/warning:")
    if found.n < ENOUGH_OUTPUTS or (raters or ENOUGH_RATERS) < ENOUGH_RATERS:
        _more_labels("Label more outputs")


def too_few(both: int, rated: int) -> None:
    """There is nothing to fit."""
    said = "No output has been labelled and submitted" if not rated else f"Of {rated} rated outputs {both} are scored"
    st.info(f"{said}; a fit needs at least two with both, and 100 to be worth much.", icon=":material/info:")
    _more_labels("Label outputs")


def _more_labels(how: str) -> None:
    """The way to more labels: one after another, or a set that is chosen to calibrate on."""
    with st.container(horizontal=True):
        st.page_link("pages/annotate.py", label=how, icon=":material/edit_note:")
        st.page_link("pages/people.py", label="Build a calibration set on People", icon=":material/groups:")


def scanned(found: Calibration) -> bool:
    """Whether λ is the best of a scan, not of all λ: acc_eq, but for systems' means."""
    return "acc_eq(eps=best" in found.signature


def legend(found: Calibration) -> None:
    """What is drawn, in words."""
    vanilla = "dashed line: plain BARTScore · " if found.at["vanilla"] is not None else ""
    st.caption(
        f"Line: agreement at each λ, {'a scan' if scanned(found) else 'exact'} · shaded: the best plateau {errors.plain(plateau_text(found.plateau))} · "
        f"pale band: 95 % bootstrap interval over segments · {vanilla}grey tick: λ = 1 · green ticks: presets of the paper"
    )


def details(found: Calibration, people: People, choice: Choice, column: Column) -> None:
    """The numbers beside the optimum, cross-validation, and the signature."""
    sign = MEASURES[choice.measure]
    rows = [
        {"λ": lambda_text(found.lam), "what": "best here", sign: found.agreement},
        {"λ": "0", "what": "implicit errors only", sign: found.at["0"]},
        {"λ": "1", "what": "equal weights", sign: found.at["1"]},
        {"λ": "∞", "what": "explicit errors only", sign: found.at["inf"]},
        {"λ": "–", "what": "plain BARTScore", sign: found.at["vanilla"]},
    ]
    left, right = st.columns([3, 2], gap="large")
    with left:
        st.dataframe(
            rows, hide_index=True, width="stretch", column_config={sign: st.column_config.NumberColumn(format="%.4f")}
        )
        with st.expander("The paper's presets on this data"):
            presets = [
                {
                    "preset": p.label, "λ": f"{p.lam:g}", sign: found.presets[p.label][1], "chosen with": p.made_with,
                    "differs here": p.differs(column.facts),
                }
                for p in PRESETS if p.label in found.presets
            ]  # fmt: skip
            st.dataframe(
                presets,
                hide_index=True,
                width="stretch",
                column_config={sign: st.column_config.NumberColumn(format="%.4f")},
            )
            st.caption(
                "Each λ belongs to the direction and the prompts it was chosen with (Lu et al. 2023, Table 7); the last column "
                "says what is not so in the scores used here."
            )
    with right:
        cv = found.cross_validated
        held = (
            f"{sign} = {number(cv.value)} on {cv.over} left out ({cv.folds} folds)"
            if cv.value is not None
            else f"undefined: {cv.reason}"
        )
        st.markdown(f"**Cross-validated**  \n{errors.plain(held)}")
        if found.agreement_ci:
            low, high = found.agreement_ci
            st.markdown(
                f"**{errors.plain(sign)} at this λ, 95 % interval**  \n{errors.plain(f'[{number(low)}, {number(high)}]')}"
            )
        st.markdown(
            f"**Fitted on**  \n{counted(found.n, 'output')} of {counted(found.n_systems, 'system')}, {counted(found.n_segments, 'segment')}"
        )
        st.caption(errors.plain(f"{found.signature}|{people.signature}"))


def saved(store: Store, project: Project, columns: Sequence[Column]) -> None:
    """The λs of the project: what each was fitted on, use, delete."""
    fitted = store.calibrations.list(project.id)
    if not fitted:
        return
    st.subheader("Saved λs", anchor=False)
    for item in reversed(fitted):
        with st.container(border=True):
            _saved(store, project, item, columns)


def _saved(store: Store, project: Project, item: SavedLambda, columns: Sequence[Column]) -> None:
    at, of = service.saved_agreement(item), service.origin(item)
    mine = next((c for c in columns if c.refinement_signature == item.refinement), None)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(
            f"**{errors.plain(item.name)}**  \nλ = {lambda_text(item.value)}{interval(of.interval)}, agreement {number(at)}",
            help=errors.plain(item.signature), width="stretch",
        )  # fmt: skip
        if st.button("Use on Compare", key=f"use-{item.id}"):
            state.use_lambda(project.id, item.value)
            if mine is not None:
                state.use_refinement(project.id, mine.name)
            st.switch_page("pages/compare.py", query_params=address(project, item.value))
        if st.button("Delete", key=f"delete-{item.id}", type="tertiary"):
            with errors.boundary():
                store.calibrations.delete(project.id, item.name)
                st.rerun()
    when = f"{item.created:%d %b %Y %H:%M} UTC" if item.created else ""
    facts = (
        of.outputs, of.people, of.weights and f"weights {of.weights}", of.measure and MEASURE_NAMES.get(of.measure, of.measure),
        next((text for g, text in GROUPS.items() if g == of.group), of.group), of.model, when,
    )  # fmt: skip
    st.caption(" · ".join(errors.plain(f) for f in facts if f))
    if mine is None:
        st.caption(
            ":material/warning: It was fitted on distances that are not among the scores of this project any more."
        )


def address(project: Project, lam: float) -> dict[str, str]:
    """The address of Compare at this λ."""
    return {state.PROJECT: str(project.id), state.LAMBDA: "inf" if math.isinf(lam) else state.lambda_text(lam)}
