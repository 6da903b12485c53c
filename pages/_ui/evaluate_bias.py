"""Evaluate, *Length and bias*: whether metrics keep up with long texts, and whether they favour systems; at system level."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pandas as pd
import streamlit as st

from core.data import SegmentKey
from core.plots import smart as plots
from core.ports import Project
from core.services import evaluate_bias as ranking
from core.services import evaluate_lengths as long
from core.services.calibration import People, from_score
from core.services.evaluate import Choice, Evaluation, Joined
from core.services.evaluate_bias import MEAN, Bias
from core.services.evaluate_lengths import ROUGE_X, ROUGES, By, LengthRow, Lengths
from core.services.evaluate_report import MISSING, number
from core.services.judgements import ENDINGS
from core.services.view import View
from pages._ui import errors, evaluate_parts, exports, tables, wiring
from pages._ui.evaluate_parts import Asked
from pages._ui.lambda_parts import digest

BYS: dict[By, str] = {"outputs": "the outputs", "references": "the references", "source": "the source"}
SHOWN: dict[str, tuple[str, str]] = {
    "tau": ("Kendall τ-b", "Kendall τ-b of system means"),
    "difference": ("difference to the baseline", "τ-b, difference to {}"),
    "relative": ("relative to the baseline", "τ-b, relative increase over {}"),
}
LINES = 5


def draw(project: Project, view: View, people: People, found: Evaluation, wanted: Asked) -> None:
    """Both analyses, over the human scores that are chosen."""
    of = _scores(project, view, people, found, wanted)
    first = next(iter(of.values()))
    if not first.keys:
        st.info("No segment is there that every system has and people rated under every score.", icon=":material/info:")
        return
    lacking = found.joined.n_segments - first.n_segments
    st.caption(
        errors.plain(
            f"System means over {first.n_segments} segments, {len(first.systems)} systems"
            + (f"; {lacking} segments lack a system or a score and are left out" if lacking > 0 else "")
            + "."
        )
    )
    st.subheader("Longer texts", anchor=False)
    _lengths(project, view, of, found.choice)
    st.subheader("Rank bias", anchor=False)
    _bias(project, of)


def _scores(project: Project, view: View, people: People, found: Evaluation, wanted: Asked) -> dict[str, Joined]:
    """The score chosen above, and the other human scores of the project: each with the same outputs."""
    mine, dataset = people.words if people.raters else _name(people), wiring.dataset(project)
    others = [n for n in dict.fromkeys(h.name for h in dataset.human_scores) if n not in (mine, _name(people))]
    of = {mine: found.joined}
    if others:
        left, right = st.columns(2)
        key = f"evaluate-also-{project.id}-{mine}"
        chosen = left.multiselect(
            "Averaged with", others, key=key, placeholder="no other score",
            help="Agreement and ranks are computed for each human score, then averaged.",
        )  # fmt: skip
        lower = right.multiselect(
            "Of these, lower is better", chosen, key=f"evaluate-lower-{project.id}", placeholder="none"
        )
        for name in chosen:
            of[name] = evaluate_parts.joined(
                project, view, from_score(dataset, name, higher_is_better=name not in lower), wanted
            )
    return long.same_outputs(of)


def _name(people: People) -> str:
    """The name under which a human score is in the dataset, from its signature."""
    facts = dict(f.split(":", 1) for f in people.signature.split("|") if ":" in f)
    ending = next((words for way, words in ENDINGS.items() if way == facts.get("by")), "")
    return facts["name"] + ending if "name" in facts else people.words


def _lengths(project: Project, view: View, of: Mapping[str, Joined], choice: Choice) -> None:
    first = next(iter(of.values()))
    labels = {c.name: c.label for c in first.contestants if not c.undefined}
    lengths = {b: of_by for b in BYS if (of_by := long.segment_lengths(view, first.keys, b)) or b == "outputs"}
    bys = list(lengths)
    one, two, three = st.columns([1, 1, 1], vertical_alignment="bottom")
    by = one.selectbox("Words of", bys, format_func=BYS.__getitem__, key=f"evaluate-words-{project.id}")
    kind = two.selectbox("Shown", list(SHOWN), format_func=lambda k: SHOWN[k][0], key="evaluate-length-shown")
    names = list(labels)
    usual = long.baseline_of(first.contestants)
    at = names.index(usual) if usual in names else 0
    baseline = three.selectbox(
        "Baseline", names, at, format_func=labels.__getitem__, key=f"evaluate-baseline-{project.id}"
    )
    found = _by_length(
        digest([j.digest for j in of.values()], lengths[by]), by, baseline, choice, _of=of, _lengths=lengths[by]
    )
    metrics = [c.name for c in first.metrics if c.name in labels]
    several = [baseline, *(n for n in metrics if n != baseline and not (baseline == ROUGE_X and n in ROUGES))][:LINES]
    key = f"evaluate-lines-{project.id}"
    lines = st.multiselect("Metrics drawn", names, several, format_func=labels.__getitem__, key=key)
    rows = [r for r in found.rows if r.name in lines]
    label = SHOWN[kind][1].format(labels[baseline])
    frame = pd.DataFrame([_point(r, kind) for r in rows], columns=["metric", "place", "bucket", "segments", *POINT])
    if frame["value"].notna().any():
        order = [labels[n] for n in names if n in lines]
        st.altair_chart(plots.lengths(frame, order, label), width="stretch")
    elif lines:
        st.info("Nothing can be drawn: see the reasons below.", icon=":material/info:")
    st.caption(errors.plain(_length_words(found, of, choice, kind)))
    _reasons([f"{r.metric}, {_bucket(r)} words: {why}" for r in rows if (why := _why(r, kind))])
    _file(project, "lengths", "Lengths as CSV", lambda: long.lengths_csv(found))


@st.cache_resource(max_entries=12, ttl=1800, show_spinner="Computing agreement by length …")
def _by_length(
    said: str, by: By, baseline: str, choice: Choice, *, _of: Mapping[str, Joined], _lengths: Mapping[SegmentKey, float]
) -> Lengths:
    return long.by_length(_of, _lengths, by, baseline, choice)


POINT = ("value", "low", "high", "shown")


def _point(row: LengthRow, kind: str) -> tuple[object, ...]:
    values = {
        "tau": (row.value, row.low, row.high),
        "difference": (row.difference, row.difference_low, row.difference_high),
        "relative": (row.relative, None, None),
    }
    value, low, high = values[kind]
    text = number(value) + (f" [{number(low, 2)}, {number(high, 2)}]" if low is not None else "")
    return row.metric, row.bucket, _bucket(row), row.segments, value, low, high, text


def _why(row: LengthRow, kind: str) -> str:
    """Why a point is not there."""
    if row.reason or kind == "tau":
        return row.reason
    return row.no_ratio if kind == "relative" or row.difference is None else ""


def _bucket(row: LengthRow) -> str:
    low, high = f"{row.shortest:.0f}", f"{row.longest:.0f}"
    return low if low == high else f"{low}–{high}"


def _length_words(found: Lengths, of: Mapping[str, Joined], choice: Choice, kind: str) -> str:
    """What is drawn, in words."""
    averaged = f"averaged over {len(of)} human scores ({', '.join(of)})" if len(of) > 1 else f"with {next(iter(of))}"
    said = [
        f"Segments in {len(found.buckets)} equally full buckets by the mean number of words of {BYS[found.by]}; below the chart "
        f"the words. τ-b of the systems’ means, {averaged}."
    ]
    if found.left_out:
        said.append(f"{found.left_out} segments without such a text are left out.")
    if kind != "relative":
        said.append(
            f"Lines: 95 % bootstrap intervals over the bucket’s {choice.unit}s, {choice.draws} draws; resampling adds noise, so "
            "that τ-b may stand near the upper end of its own interval, or above it."
        )
    else:
        said.append("1 means twice the τ-b of the baseline; undefined where that is not above 0.")
    return " ".join(said)


def _bias(project: Project, of: Mapping[str, Joined]) -> None:
    systems = next(iter(of.values())).systems
    group = st.multiselect(
        "Systems of one kind", systems, key=f"evaluate-kind-{project.id}", placeholder="none",
        help="Extractive ones, or those built on the model a metric uses: their mean rank difference is added to the table.",
    )  # fmt: skip
    found = ranking.bias(of, group)
    scores = [*of, MEAN] if len(of) > 1 else list(of)
    score = scores[-1]
    if len(scores) > 1:
        score = st.segmented_control(
            "Ranks by", scores, default=MEAN, key=f"evaluate-ranks-{project.id}", required=True,
            format_func=lambda s: f"{MEAN} of {len(of)}" if s == MEAN else s,
        ) or MEAN  # fmt: skip
    rows = sorted((r for r in found.rows if r.score == score), key=_place)
    order = [r.metric for r in rows if r.status == "ok"]
    places = [r for r in found.ranks if r.score == score]
    if not places:
        st.info(errors.plain(f"No metric can be ranked: {rows[0].reason}."), icon=":material/info:")
        return
    frame = pd.DataFrame(places)
    frame["shown"] = [_signed(d) for d in frame["difference"]]
    st.altair_chart(plots.rank_differences(frame, order, found.systems), width="stretch")
    st.caption(
        "Metric rank − human rank. **Blue, below 0**: the metric places the system higher than people do; **orange, above 0**: lower."
    )
    tables.reading(_table(rows, scores, found), tall=40)
    said = (
        "σ: standard deviation of the rank differences, 0 for the ranking of people (Amplayo et al. 2022, Table 4); the "
        "differences themselves sum to 0. Pairwise accuracy: the share of system pairs ordered as people order them."
    )
    st.caption(errors.plain(said))
    _reasons([f"{r.metric}: {r.reason}" for r in rows if r.status != "ok"])
    with st.container(horizontal=True):
        _file(project, "bias", "Bias as CSV", lambda: ranking.bias_csv(found))
        _file(project, "ranks", "Ranks as CSV", lambda: ranking.ranks_csv(found))


def _place(row: ranking.BiasRow) -> tuple[bool, bool, float]:
    return row.kind == "sentinel", row.deviation is None, row.deviation or 0.0


def _table(rows: Sequence[ranking.BiasRow], scores: Sequence[str], found: Bias) -> list[dict[str, str]]:
    """Least biased first: σ and pairwise accuracy under every human score."""
    out = []
    for row in rows:
        line = {"metric": row.metric}
        for score in scores:
            of = found.of(row.name, score)
            ending = "" if len(scores) == 1 else f", {score}"
            line[f"σ ↓{ending}"] = number(of.deviation)
            line[f"pairwise ↑{ending}"] = MISSING if of.accuracy is None else f"{100 * of.accuracy:.1f} %"
        line["mean |difference|"] = number(row.mean_absolute, 2)
        line["of that kind"] = "" if row.group_mean is None else _signed(row.group_mean)
        out.append(line)
    return out


def _signed(value: float) -> str:
    text = f"{abs(value):.2f}".rstrip("0").rstrip(".")
    return text if text == "0" else f"{'−' if value < 0 else '+'}{text}"


def _reasons(lines: Sequence[str]) -> None:
    if lines:
        with st.expander(f"{len(lines)} undefined"):
            st.text("\n".join(lines))


def _file(project: Project, what: str, label: str, made: Callable[[], str]) -> None:
    st.download_button(
        label, lambda: made().encode("utf-8"), f"{exports.file_name(project.name)}.{what}.csv", "text/csv",
        icon=":material/download:", on_click="ignore", key=f"evaluate-{what}",
    )  # fmt: skip
