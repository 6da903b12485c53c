"""Raters, their agreement in labels, scores and rankings, and the largest disagreements."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial

import pandas as pd
import streamlit as st

from core.calibration.presets import ENOUGH_RATERS
from core.data import SEVERITIES, Judgement
from core.formats.labels.judgements import is_rank
from core.formatting import format_clock, format_count, format_figure, format_interval, format_number, format_percent
from core.mqm.label_columns import LabelColumns
from core.plots.campaigns import matrix_width, severity_confusion, tau_matrix
from core.ports.projects import Project
from core.services.labels import agreement
from core.services.labels.agreement import Agreement, Dispute, reading
from core.services.labels.judgements import ALPHAS, NumberAgreement, number_agreement
from core.services.labels.labels import finished
from core.settings import load_settings
from core.stats.bootstrap import Interval
from core.stats.correlation.correlation import Statistic
from core.stats.raters.rater_agreement import RaterPair
from core.stats.raters.span_agreement import SpanAgreement
from pages._ui.annotate import identity
from pages._ui.compare.inspector import marks_toggle
from pages._ui.labels_and_raters import known_labels, labelled_output
from pages._ui.shared import errors, page, tables, wiring
from pages._ui.shared.files import figure
from pages._ui.shared.long_jobs import run_cached
from pages._ui.shared.markdown import escape_markdown
from pages._ui.shared.page import definition

MATRIX = 3
"""Number of annotators from which τ is drawn as a matrix."""
TITLE = "**Same ranking of the outputs**"
SCALE = "Kendall τ-b ↑, 1 = identical, 0 = chance"


def draw_rankings(pairs: Sequence[RaterPair], how: str, what: str) -> None:
    """Draw τ-b of all pairs that share outputs, and say how many share none. `how` says over what τ-b is computed, `what` names the
    file of the picture."""
    shared = [p for p in pairs if p.tau.n or p.tau.value is not None]
    if not shared:
        page.info("No two annotators rated the same outputs, so their rankings cannot be compared.")
        return
    names = list(dict.fromkeys(name for p in pairs for name in (p.first, p.second)))
    raters = {name for p in shared for name in (p.first, p.second)}
    names = [name for name in names if name in raters]
    if len(names) < MATRIX:
        tau = shared[0].tau
        st.markdown(f"{TITLE} ({SCALE}), {how}: {escape_markdown(value(tau))}")
    else:
        st.markdown(f"{TITLE} by each pair of annotators")
        kept = [p for p in pairs if {p.first, p.second} <= raters]
        figure(
            tau_matrix(names, kept, ink=page.colour("ink")),
            "Agreement of the annotators on the ranking of the outputs",
            f"Kendall τ-b by each pair of annotators, {how}: 1 = identical, 0 = chance.",
            what,
            width=matrix_width(len(names)),
        )
    if apart := len(pairs) - len(shared):
        page.caption(f"{apart:,} of {format_count(len(pairs), 'pair')} of annotators rated no outputs in common.")


def value(of: Statistic) -> str:
    """Return τ-b as text, with the number of segments that define it, or why it is undefined."""
    if of.value is None:
        return f"undefined, {of.reason}"
    return format_number(of.value) + (f" (defined in {of.counted} segments)" if of.counted else "")


ALL_PAIRS = "All pairs"
ALPHA = "Krippendorff's α"
AT_ONCE = 5
KINDS = {
    "place": "same characters",
    "severity": "same characters and severity",
    "category": "same characters and category",
    "both": "all three",
}


def of_project(project: Project, scheme: str) -> Agreement | None:
    """Return the agreement in the project, up to 30 s old; None if it was cancelled."""
    database = load_settings().database
    labels = _recent(database, project, _labels=known_labels.submitted(project))
    return run_cached(
        ("agreement", database, project, scheme, labels.digest),
        "Comparing labels …",
        lambda progress: agreement.agreement(wiring.store(), project.id, labels, scheme, progress=progress),
    )


@st.cache_resource(max_entries=4, ttl=30, show_spinner=False)
def _recent(database: str, project: Project, *, _labels: LabelColumns) -> LabelColumns:
    """Return labels that are up to 30 s old: those of a busy project change every second."""
    return _labels


def give_scores(all_of: Agreement, judgements: Collection[Judgement]) -> bool:
    """Return whether every rater of the error spans also gave scores, as ESA asks: MQM scores are then not what they were asked for."""
    scorers = {j.rater for j in judgements if not is_rank(j.name)}
    return bool(scorers) and {r.rater for r in all_of.raters} <= scorers


def raters(all_of: Agreement, *, scored: bool) -> None:
    """Draw a table with one row per rater. Errors are per output, so that raters can be compared.

    If raters gave scores of their own (`scored`), the MQM score and the columns that nobody used are left out.
    """
    used = [s for s in SEVERITIES if not scored or any(r.errors[s] for r in all_of.raters)]
    mqm = not scored or any(r.non_translations for r in all_of.raters)
    rows = [
        {
            "annotator": r.rater,
            "outputs": r.outputs,
            "segments": r.segments,
            "time, h:min:s": r.seconds,
            **{f"{s} per output": r.errors[s] / r.outputs for s in used},
            "no error, %": 100 * r.clean / r.outputs,
            **({"non-translation": r.non_translations} if mqm else {}),
            **({} if scored else {"mean MQM score ↑": r.score}),
        }
        for r in all_of.raters
    ]
    two, integer = partial(format_number, digits=2, leading_zero=True), partial(format_number, digits=0)
    formats: dict[str, Callable[..., str]] = {f"{s} per output": two for s in SEVERITIES}
    formats |= dict.fromkeys(("outputs", "segments"), "{:,.0f}".format)
    formats |= {"time, h:min:s": format_clock, "no error, %": integer, "mean MQM score ↑": two}
    tables.data_table(
        pd.DataFrame(rows).dropna(axis="columns", how="all"),
        formats,
        helps={f"{s} per output": f"{s} errors per output" for s in SEVERITIES}
        | {
            "time, h:min:s": "Time on Annotate; a pause counts at most two minutes. None for imported labels",
            "no error, %": "Share of outputs without errors",
            "mean MQM score ↑": "Mean MQM score of this annotator’s outputs: 0 = no error, more negative = worse",
        },
    )


def figures(all_of: Agreement, *, scored: bool) -> None:
    """Draw α with its interpretation, then spans and severities of all pairs or of one. If raters gave scores of their own
    (`scored`), their agreement decides whether one is enough, so α of MQM scores is not interpreted."""
    if len(all_of.raters) < ENOUGH_RATERS:
        page.info("Only one annotator has labelled outputs. Agreement needs a second one on some of the same outputs.")
        page.link("annotate", "Annotate outputs")
        return
    alpha = all_of.alpha
    if alpha.value is not None:
        st.markdown(
            _headline("MQM scores of the error spans", alpha, all_of.twice, "labelled").join(
                ("**", "**") if scored else ("#### ", "")
            ),
            help=f"{ALPHA}: {definition(ALPHA)} In brackets: the likely range (95 % CI, bootstrap over segments). Computed on MQM "
            "scores (interval level).",
        )
    if scored and alpha.value is not None:
        page.caption(
            "The annotators gave scores too: see their agreement above. MQM scores are computed from the error spans with the weights above."
        )
    else:
        st.markdown(escape_markdown(agreement.reading(alpha)))
    if not all_of.twice:
        return
    if all_of.compared < all_of.twice:
        page.caption(
            f"Error spans were compared on a random sample of {all_of.compared:,} of these {all_of.twice:,} outputs. α and τ-b cover all."
        )
    draw_rankings(
        [RaterPair(p.first, p.second, p.tau) for p in all_of.pairs], "over outputs that both rated", "annotators"
    )
    _marks(all_of)
    with st.expander("Signature of α"):
        st.text(all_of.signature)


def _marks(all_of: Agreement) -> None:
    pairs = {f"{p.first} and {p.second}": p for p in all_of.pairs if p.outputs}
    name = ALL_PAIRS
    if len(pairs) > 1:
        name = st.selectbox("Pair of annotators", [ALL_PAIRS, *pairs], key="people-pair", width=420)
    one = pairs.get(name) or (all_of.pairs[0] if len(all_of.pairs) == 1 else None)
    spans = one.spans if one else all_of.spans
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown("**Overlap of the marked text**: F1 over characters ↑ (1 = identical, 0 = none)")
        rows = [
            {
                "errors agree in": KINDS[kind],
                "all outputs together": _value(s.micro),
                "mean, if any error": _value(s.macro),
            }
            for kind, s in spans.items()
        ]
        tables.text_table(rows)
        st.markdown(escape_markdown(empties(spans["place"])))
    with right:
        first, second = (one.first, one.second) if one else ("one annotator", "the other")
        st.markdown("**Which severity each annotator gave to the same text** (numbers of characters)")
        chart = severity_confusion(
            one.confusion if one else all_of.confusion,
            (*SEVERITIES, agreement.UNMARKED),
            rows=first,
            columns=second,
            ink=page.colour("ink"),
        )
        head = f"Severity of the same text by {first} and {second}"
        figure(chart, head, "Numbers of characters.", "severities")


def empties(spans: SpanAgreement) -> str:
    """Return how outputs without errors are counted."""
    same = spans.texts - spans.one_empty
    return (
        f"{format_count(spans.texts, 'comparison')} of two annotators on an output: both found no error in {spans.both_empty}, only "
        f"one of them found errors in {spans.one_empty}. They agree in {format_percent(same / max(1, spans.texts))} on whether there is any "
        "error. F1 is undefined if both found no error, and 0 if only one of them found errors."
    )


def _value(value: Statistic) -> str:
    if value.value is None:
        return f"undefined: {value.reason}"
    return format_number(value.value) + (f" ({value.counted})" if value.counted else "")


@st.fragment
@errors.guarded
def disputes(project: Project, all_of: Agreement) -> None:
    """Draw the largest disagreements. Segments that this person has not submitted need a click."""
    on_sample = ""
    if all_of.compared < all_of.twice:
        on_sample = f" on a random sample of {all_of.compared:,} of the {all_of.twice:,} outputs labelled by two annotators or more"
    if not all_of.disputes:
        page.info(
            f"All annotators agree{on_sample}." if all_of.twice else "No output has labels by two annotators yet."
        )
        return
    capped = len(all_of.disputes) < all_of.n_disputes
    if on_sample or capped:
        largest = f"The {len(all_of.disputes):,} largest of " if capped else ""
        page.caption(f"{largest}{format_count(all_of.n_disputes, 'disagreement')}{on_sample}.")
    everyone = marks_toggle(f"people-marks-{project.id}")
    queue = list(all_of.disputes) if everyone else visible(project, all_of.disputes)
    if hidden := len(all_of.disputes) - len(queue):
        st.info(
            f"{format_count(hidden, 'disagreement')} {'is' if hidden == 1 else 'are'} hidden until you submit "
            "the segments, to avoid bias. Not an annotator? Turn on the switch above.",
            icon=":material/visibility_off:",
        )
    more = f"people-shown-{project.id}"
    shown = st.session_state.get(more, AT_ONCE)
    for place, dispute in enumerate(queue[:shown], start=1):
        _dispute(project, place, dispute)
    if (left := len(queue) - shown) > 0:
        show_more = partial(st.session_state.update, {more: shown + AT_ONCE})
        st.button(f"Show {min(AT_ONCE, left)} more of {len(queue)}", key="people-more", on_click=show_more)


def visible(project: Project, queue: Sequence[Dispute]) -> list[Dispute]:
    """Return the disagreements in segments that this annotator has submitted."""
    rater = identity.rater()
    if rater is None:
        return []
    mine, outline = wiring.store().labels.of_rater(project.id, rater), wiring.index(project).outline
    return [d for d in queue if finished(mine.get(d.key.segment), outline.get(d.key.segment, ()))]


def _dispute(project: Project, place: int, dispute: Dispute) -> None:
    key = dispute.key
    segment, texts = wiring.texts(project).segment(key.segment)
    points = dispute.disagreement.points or 0.0
    apart = f"average difference between annotators: {format_figure(points)} point{'' if points == 1 else 's'}"
    title = f"**{place}.** {' · '.join(escape_markdown(part) for part in (*key.segment, key.system) if part)} · {apart}"
    columns = [
        labelled_output.column(rater, f"score {format_figure(score)}", spans, texts[key.system], segment.source or "")
        for rater, spans, score in dispute.raters
    ]
    labelled_output.draw_labelled_output(project, key, title, columns, f"dispute-{project.id}-{key!r}")


def draw_number_agreement(project: Project) -> None:
    """Draw the agreement for each score of annotators, imported or of a campaign; nothing if there are none."""
    if not wiring.judgements(project):
        return
    st.subheader("Scores and ranks by annotator", anchor=False)
    by_name = {f.name: f for f in _agreements(project)}
    name = next(iter(by_name))
    if len(by_name) > 1:
        name = st.selectbox("Human scores", by_name, key="people-numbers", width=320)
    imported = name in {j.name for j in wiring.store().labels.judgements(project.id)}
    of_name = by_name[name]
    kind, what = ("ordinal", "ranks") if of_name.ranks else ("interval", "scores")
    if (alpha := of_name.alphas[kind]).value is not None:
        st.markdown(f"#### {_headline(f'{what} “{name}”', alpha, of_name.twice, 'rated')}")
        st.markdown(escape_markdown(reading(alpha)))
    _raters(of_name, imported=imported)
    _agreement(of_name)


@wiring.cached(wiring.version, 8, spinner="Comparing scores …")
def _agreements(project: Project) -> tuple[NumberAgreement, ...]:
    return number_agreement(wiring.judgements(project))


def _headline(what: str, alpha: Interval, twice: int, verb: str) -> str:
    """Return α of the scores or ranks `what`, and on how many outputs it is computed, as Markdown."""
    return escape_markdown(
        f"Agreement of the {what}: α = {format_interval(alpha.value, alpha.low, alpha.high)} on {format_count(twice, 'output')} of "
        f"{format_count(alpha.n, 'segment')} {verb} by two or more"
    )


def _raters(agreement: NumberAgreement, *, imported: bool) -> None:
    rows = [
        {
            "annotator": r.rater, "outputs": r.outputs, "mean": r.mean, "standard deviation": r.deviation,
            "lowest": r.low, "highest": r.high,
        }
        for r in agreement.raters
    ]  # fmt: skip
    two = partial(format_number, digits=2, leading_zero=True)
    direction = "ranks, 1 is best" if agreement.ranks else "as imported" if imported else "as given in the campaign"
    st.markdown(
        f"**{escape_markdown(agreement.name)}**, {direction}: {format_count(agreement.outputs, 'output')}, {agreement.twice} by two or more"
    )
    tables.data_table(rows, {"mean": two, "standard deviation": two, "lowest": format_figure, "highest": format_figure})


def _agreement(agreement: NumberAgreement) -> None:
    if len(agreement.raters) < 2:
        page.info("Only one annotator. Agreement needs a second one on some of the same outputs.")
        return
    rows = [
        {
            "Krippendorff’s α of": ALPHAS[kind], "α ↑": format_number(a.value) if a.value is not None else a.reason,
            "95 % CI": f"[{format_number(a.low)}, {format_number(a.high)}]" if a.low is not None else "–", "segments": a.n,
        }
        for kind, a in agreement.alphas.items()
    ]  # fmt: skip
    tables.data_table(rows)
    over = "within each segment, averaged" if agreement.ranks else "over outputs that both rated"
    draw_rankings(agreement.pairs, over, "annotators-of-scores")
    st.caption(
        "α: 1 is perfect agreement, 0 is chance; 95 % CI: bootstrap over segments. Annotators with the same ranking but a different "
        "use of the scale disagree in the scores and agree in z-scores (mean 0 and deviation 1 for each annotator)."
    )
