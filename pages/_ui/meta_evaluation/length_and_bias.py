"""Length and bias: agreement of metrics as texts get longer, and rank bias for systems, at system level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import pandas as pd
import streamlit as st

from core.formats.write import csv_text
from core.formatting import format_number, format_percent, with_interval
from core.plots import score_charts
from core.ports.projects import Project
from core.services.calibrate.calibration import HumanScores, from_score
from core.services.evaluate import length_and_bias as service
from core.services.evaluate.evaluate import AgreementOptions, Evaluation
from core.services.evaluate.evaluation_data import EvaluationData
from core.services.evaluate.length_and_bias import MEAN, ROUGE_X, ROUGES, Bias, By, LengthRow, Lengths
from core.services.labels.judgements import ENDINGS
from core.services.projects.view import View
from core.signature import fields_of
from pages._ui.meta_evaluation import evaluation_data
from pages._ui.meta_evaluation.evaluation_data import EvaluationOptions
from pages._ui.shared import drafts, page, tables, wiring
from pages._ui.shared.files import downloads, figure, table_files
from pages._ui.shared.long_jobs import compute, digest
from pages._ui.shared.markdown import escape_markdown

BYS: dict[By, str] = {"outputs": "the outputs", "references": "the references", "source": "the source"}
SHOWN: dict[str, tuple[str, str]] = {
    "tau": ("Kendall τ-b", "Kendall τ-b of system means"),
    "difference": ("difference to the comparison metric", "τ-b, difference to {}"),
    "relative": ("relative to the comparison metric", "τ-b, relative increase over {}"),
}
LINES = 5
ROUGE_X_IS = " ROUGE-X: mean of ROUGE-1, ROUGE-2 and ROUGE-L."


def draw_length_and_bias(
    project: Project, view: View, human_scores: HumanScores, evaluation: Evaluation, options: EvaluationOptions
) -> None:
    """Draw both analyses over the chosen human scores."""
    of = _scores(project, view, human_scores, evaluation, options)
    first = next(iter(of.values()))
    if not first.keys:
        page.info("No segment has outputs of all systems with every human score.")
        return
    lacking = evaluation.joined.n_segments - first.n_segments
    left_out = f"; {lacking} segments without every system and score are left out" if lacking > 0 else ""
    page.caption(
        f"This tab always compares system means, here over {first.n_segments} segments, {len(first.systems)} systems{left_out}."
    )
    st.subheader("Longer texts", anchor=False)
    _lengths(project, view, of, evaluation.choice)
    st.subheader("Rank bias", anchor=False)
    _bias(project, of)


def _scores(
    project: Project, view: View, human_scores: HumanScores, evaluation: Evaluation, options: EvaluationOptions
) -> dict[str, EvaluationData]:
    """Return the chosen human score and the others to average with, all on the same outputs."""
    mine = human_scores.words if human_scores.raters else _name(human_scores)
    human = [c.name.removeprefix("human:") for c in view.columns if c.human]
    others = [name for name in human if name not in (mine, _name(human_scores))]
    of = {mine: evaluation.joined}
    if others:
        left, right = st.columns(2)
        key = drafts.kept(f"evaluate-also-{project.id}-{mine}")
        chosen = left.multiselect(
            "Average with", others, key=key, placeholder="No other score",
            help="Agreement and ranks are computed for each human score, then averaged.",
        )  # fmt: skip
        lower = right.multiselect(
            "Scores where lower is better", chosen, key=drafts.kept(f"evaluate-lower-{project.id}"), placeholder="none"
        )
        for name in chosen:
            values = wiring.human_score(project, name).finite()
            of[name] = evaluation_data.joined(
                project, view, from_score(values, name, higher_is_better=name not in lower), options
            )
    return service.same_outputs(of)


def _name(human_scores: HumanScores) -> str:
    """Return the name of a human score in the dataset, from its signature."""
    facts = fields_of(human_scores.signature)
    ending = next((words for way, words in ENDINGS.items() if way == facts.get("by")), "")
    return facts["name"] + ending if "name" in facts else human_scores.words


def _lengths(project: Project, view: View, of: Mapping[str, EvaluationData], choice: AgreementOptions) -> None:
    first = next(iter(of.values()))
    labels = {c.name: c.label for c in first.scored_metrics if not c.undefined}
    lengths = {b: of_by for b in BYS if (of_by := service.segment_lengths(view, first.keys, b)) or b == "outputs"}
    bys = list(lengths)
    one, two, three = st.columns([1, 1, 1], vertical_alignment="bottom")
    by = one.selectbox("Length of", bys, format_func=BYS.__getitem__, key=drafts.kept(f"evaluate-words-{project.id}"))
    kind = two.selectbox(
        "Values shown", SHOWN, format_func=lambda k: SHOWN[k][0], key=drafts.kept("evaluate-length-shown")
    )
    names = list(labels)
    usual = service.baseline_of(first.scored_metrics)
    at = names.index(usual) if usual in names else 0
    baseline = three.selectbox(
        "Comparison metric", names, at, format_func=labels.__getitem__, key=drafts.kept(f"evaluate-baseline-{project.id}"),
        help="The metric that the others are compared with. ROUGE-X is the mean of ROUGE-1, ROUGE-2 and ROUGE-L.",
    )  # fmt: skip
    by_length = compute(
        ("lengths", digest([j.digest for j in of.values()], lengths[by]), by, baseline, choice),
        "Computing agreement by length …",
        lambda: service.by_length(of, lengths[by], by, baseline, choice),
    )
    metrics = [c.name for c in first.metrics if c.name in labels]
    several = [baseline, *(n for n in metrics if n != baseline and not (baseline == ROUGE_X and n in ROUGES))][:LINES]
    key = drafts.kept(f"evaluate-lines-{project.id}", several)
    lines = st.multiselect("Metrics shown", names, several, format_func=labels.__getitem__, key=key)
    rows = [r for r in by_length.rows if r.name in lines]
    label = SHOWN[kind][1].format(labels[baseline])
    frame = pd.DataFrame([_point(r, kind) for r in rows], columns=["metric", "place", "bucket", "segments", *POINT])
    if frame["value"].notna().any():
        order = [labels[n] for n in names if n in lines]
        said = _length_words(by_length, of, choice, kind) + (ROUGE_X_IS if ROUGE_X in lines else "")
        figure(
            score_charts.lengths(frame, order, label),
            f"Agreement by length of {BYS[by_length.by]}: {label}",
            said,
            "lengths",
        )
    elif lines:
        page.info("No value can be computed: see the reasons below.")
    tables.reasons([f"{r.metric}, {_bucket(r)} words: {why}" for r in rows if (why := _why(r, kind))])
    exact = [(by_length.by, *row) for row in by_length.rows]
    make = partial(csv_text, ("by", *LengthRow._fields), exact)
    downloads("lengths", "evaluate-lengths", ("Agreement by length as CSV", "csv", make))


POINT = ("value", "low", "high", "shown")


def _point(row: LengthRow, kind: str) -> tuple[object, ...]:
    values = {
        "tau": (row.value, row.low, row.high),
        "difference": (row.difference, row.difference_low, row.difference_high),
        "relative": (row.relative, None, None),
    }
    value, low, high = values[kind]
    text = with_interval(format_number(value), low, high)
    return row.metric, row.bucket, _bucket(row), row.segments, value, low, high, text


def _why(row: LengthRow, kind: str) -> str:
    """Return why a point is missing."""
    if row.reason or kind == "tau":
        return row.reason
    return row.no_ratio if kind == "relative" or row.difference is None else ""


def _bucket(row: LengthRow) -> str:
    low, high = f"{row.shortest:.0f}", f"{row.longest:.0f}"
    return low if low == high else f"{low}–{high}"


def _length_words(by_length: Lengths, of: Mapping[str, EvaluationData], choice: AgreementOptions, kind: str) -> str:
    """Return the caption of the chart."""
    averaged = f"averaged over {len(of)} human scores ({', '.join(of)})" if len(of) > 1 else f"with {next(iter(of))}"
    said = [
        f"Segments in {len(by_length.buckets)} groups of equal size by the mean number of words of {BYS[by_length.by]} (horizontal "
        f"axis). τ-b of system means, {averaged}."
    ]
    if by_length.left_out:
        said.append(f"{by_length.left_out} segments without this text are left out.")
    if kind != "relative":
        said.append(
            f"Lines: 95 % CI ({choice.draws} random resamples of the {choice.unit}s of the group). Resampling makes agreement look "
            "lower, so τ-b may be near the upper end of its CI or above it."
        )
    else:
        said.append("1 means twice the τ-b of the comparison metric; undefined if that is not above 0.")
    return " ".join(said)


def _bias(project: Project, of: Mapping[str, EvaluationData]) -> None:
    systems = next(iter(of.values())).systems
    group = st.multiselect(
        "Group of systems", systems, key=drafts.kept(f"evaluate-kind-{project.id}"), placeholder="none",
        help="For example extractive systems, or those built on the model of a metric. The table adds their mean rank difference.",
    )  # fmt: skip
    bias = service.bias(of, group)
    scores = [*of, MEAN] if len(of) > 1 else list(of)
    score = scores[-1]
    if len(scores) > 1:
        score = st.segmented_control(
            "Ranks by", scores, default=MEAN, key=drafts.kept(f"evaluate-ranks-{project.id}"), required=True,
            format_func=lambda s: f"{MEAN} of {len(of)}" if s == MEAN else s,
        ) or MEAN  # fmt: skip
    rows = sorted((r for r in bias.rows if r.score == score), key=_place)
    order = [r.metric for r in rows if r.status == "ok"]
    places = [r for r in bias.ranks if r.score == score]
    if not places:
        page.info(escape_markdown(f"No metric can be ranked: {rows[0].reason}."))
        return
    frame = pd.DataFrame(places)
    frame["shown"] = [_signed(d) for d in frame["difference"]]
    said = "Blue (−): the metric favours this system (ranks it higher than the human scores do); orange (+): it ranks the system lower. Number: metric rank − human rank."
    head = f"Rank of each system by each metric, compared with its rank by human scores ({', '.join(of) if score == MEAN else score})"
    figure(score_charts.rank_differences(frame, order, bias.systems), head, said, "rank-bias")
    shown = _table(rows, scores, bias)
    tables.text_table(shown, tall=40)
    said = (
        "σ: standard deviation of the rank differences; 0 if the metric ranks as the human scores do (Amplayo et al. 2022, "
        "Table 4). The differences sum to 0. Pairwise accuracy: share of system pairs ordered as by the human scores."
    )
    page.caption(said)
    tables.reasons([f"{r.metric}: {r.reason}" for r in rows if r.status != "ok"])
    table_files(shown, f"Bias of metrics towards systems, by {', '.join(scores)}. {said}", "bias")
    with st.container(horizontal=True):
        downloads(
            "bias", "evaluate-bias", ("Bias as CSV", "csv", partial(csv_text, service.BiasRow._fields, bias.rows))
        )
        downloads(
            "ranks", "evaluate-ranks", ("Ranks as CSV", "csv", partial(csv_text, service.RankRow._fields, bias.ranks))
        )


def _place(row: service.BiasRow) -> tuple[bool, bool, float]:
    return row.kind == "sentinel", row.deviation is None, row.deviation or 0.0


def _table(rows: Sequence[service.BiasRow], scores: Sequence[str], bias: Bias) -> list[dict[str, str]]:
    """Return σ and pairwise accuracy for each human score, least biased first."""
    out = []
    for row in rows:
        line = {"metric": row.metric}
        for score in scores:
            of = bias.of(row.name, score)
            ending = "" if len(scores) == 1 else f", {score}"
            line[f"σ ↓{ending}"] = format_number(of.deviation)
            line[f"pairwise ↑{ending}"] = format_percent(of.accuracy, 1)
        line["mean |difference|"] = format_number(row.mean_absolute, 2)
        line["mean difference of the group"] = "" if row.group_mean is None else _signed(row.group_mean)
        out.append(line)
    return out


def _signed(value: float) -> str:
    text = f"{abs(value):.2f}".rstrip("0").rstrip(".")
    return text if text == "0" else f"{'−' if value < 0 else '+'}{text}"
