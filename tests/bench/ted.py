"""`python -m tests.bench.ted`: the WMT 2021 TED talks (zh→en, MQM) as a project, from the import to the evaluation.

Everything goes through what the pages call, over a database of its own; scoring goes on where it was broken off.
"""

from __future__ import annotations

import argparse
import gzip
import time
from collections import Counter, defaultdict
from pathlib import Path

from core.calibration.presets import PRESETS
from core.data import Dataset
from core.formats.files import Upload
from core.formats.role_names import is_human_name
from core.formatting import format_lambda
from core.metrics import registry
from core.ports.projects import Project
from core.ports.store import Store
from core.scoring import dataset
from core.services.calibrate import calibration
from core.services.evaluate.evaluate import AgreementOptions, Evaluation, evaluate
from core.services.evaluate.evaluation_data import from_view
from core.services.evaluate.significance import compare_metrics
from core.services.export.export import labels_as
from core.services.projects import references
from core.services.projects.adding import ImportTarget
from core.services.projects.label_import import import_labels, read_label_files
from core.stats.correlation.correlation import Measure
from db.store import open_store
from tests.labels import submitted
from tests.paths import needed_data
from tests.views import view_of

LABELS, PUBLISHED = "mqm_ted_zhen.tsv.gz", "mqm_ted_zhen.avg_seg_scores.tsv.gz"
NAMES = {"ref": "ref-A", "refB": "ref-B"}  # of the label file → of the published scores
METRICS = ("chrf", "bleu", "rougeL", "bartscore-p", "bartscore++-p")
FITTED = "bartscore++-p"


def imported(store: Store, upload: Upload) -> Project:
    """The project, made of the label file, with refB as the reference."""
    there = next((p for p in store.projects.list() if p.name == "TED zh-en"), None)
    if there is None:
        found = read_label_files([upload])
        print(found.summary(), *(w.sentence() for w in found.warnings), sep="\n  ")
        there = import_labels(store, ImportTarget("TED zh-en"), found).project
        added = references.use(store, there.id, "refB")
        print(f"references added: {added.report.references}")
    return store.projects.get(there.id)


def against_published(people: calibration.HumanScores, published: str) -> None:
    """Segment scores and the ranking of systems against the published ones, which have the opposite sign."""
    theirs: dict[tuple[str, str], float | None] = {}
    for line in published.splitlines()[1:]:
        system, score, segment = line.split()
        theirs[system, segment] = None if score == "None" else -float(score)
    ours = {(NAMES.get(k.system, k.system), k.segment_id): -v for k, (v, _) in people.scores.items()}
    rated = {k: v for k, v in theirs.items() if v is not None}
    wide = {k: (v, rated.get(k)) for k, v in ours.items() if k not in rated or abs(abs(rated[k]) - v) > 1e-9}
    print(f"segment scores: {len(ours)} of ours, {len(rated)} published, {len(wide)} that differ or are missing there")
    for k, pair in list(wide.items())[:5]:
        print("  ", k, pair)

    def ranking(scores: dict[tuple[str, str], float]) -> list[str]:
        of = defaultdict(list)
        for (system, _), value in scores.items():
            of[system].append(abs(value))
        means = {s: sum(v) / len(v) for s, v in of.items()}
        return [f"{s} {means[s]:.4f}" for s in sorted(means, key=lambda s: means[s])]

    print("ranking the same:", ranking(ours) == ranking(rated))
    print("  " + ", ".join(ranking(ours)))


def row_by_row(store: Store, project: Project, original: str) -> None:
    """The export against the file it came from, as multisets of rows."""
    before = Counter(original.splitlines()[1:])
    width, written = (
        original.partition("\n")[0].count("\t") + 1,
        labels_as(store, project.id, name="google").data.decode().splitlines(),
    )
    print("columns of ours that the file has not:", ", ".join(written[0].split("\t")[width:]) or "none")
    after = Counter("\t".join(row.split("\t")[:width]) for row in written[1:])
    gone, new = before - after, after - before
    print(
        f"rows: {before.total()} in the file, {after.total()} exported, {(before & after).total()} the same, word for word"
    )

    def place(row: str) -> tuple[str, ...]:
        return tuple(row.split("\t")[:5])

    reasons: Counter[str] = Counter()
    others = defaultdict(list)
    for row in new.elements():
        others[place(row)].append(row.split("\t"))
    for row in gone.elements():
        cells = row.split("\t")
        reasons[_reason(cells, others[place(row)])] += 1
        print(
            "  of the file:", cells[6], "\n  of ours:    ", *(r.split("\t")[6] for r in new if place(r) == place(row))
        )
    for reason, count in reasons.most_common():
        print(f"  {count:6} {reason}")


def _reason(row: list[str], others: list[list[str]]) -> str:
    for other in others:
        differing = [i for i, (a, b) in enumerate(zip(row, other, strict=True)) if a != b]
        if len(differing) == 1:
            others.remove(other)
            name = ("source", "target", "category", "severity")[differing[0] - 5]
            a, b = row[differing[0]], other[differing[0]]
            if a.strip() == b.strip():
                return f"{name}: blanks at its ends"
            if a.replace("<v>", "").replace("</v>", "") == b.replace("<v>", "").replace("</v>", ""):
                return f"{name}: the span stands elsewhere"
            return f"{name}: another word"
    return "no row of ours is like it but for one cell"


def score(store: Store, machines: Dataset, metrics: tuple[str, ...]) -> None:
    """Score what is not scored yet, saying now and then how far it is."""
    last = [0.0]

    def show(doing: dataset.ScoringProgress) -> None:
        if time.monotonic() - last[0] > 60:
            last[0] = time.monotonic()
            print("  ", doing.sentence(), flush=True)

    started = time.monotonic()
    for done in dataset.score_dataset(machines, registry.chosen(metrics), store.scores, show):
        print(f"{done.metric}: {done.new} new, {done.known} known, {done.failed} failed")
    print(f"scored in {time.monotonic() - started:.0f} s")


def show(found: Evaluation, statistics: tuple[str, ...]) -> None:
    """One line a metric: value and interval under each statistic."""
    for scored_metric in found.joined.scored_metrics:
        cells = []
        for name in statistics:
            row = next(r for r in found.rows if r.name == scored_metric.name and r.statistic == name)
            if row.value is None:
                cells.append(f"{row.reason[:24]:24}")
            else:
                ends = "" if row.low is None else f" [{row.low:.3f}, {row.high:.3f}]"
                cells.append(f"{row.value:.3f}{ends}".ljust(24))
        print(f"{'· ' if scored_metric.sentinel else ''}{scored_metric.label}".ljust(34), *cells)


def main() -> None:
    """The whole of it, printed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--home", type=Path, required=True, help="folder of the database")
    parser.add_argument("--metrics", default=",".join(METRICS))
    parser.add_argument("--only-import", action="store_true")
    asked = parser.parse_args()
    asked.home.mkdir(parents=True, exist_ok=True)
    store = open_store(f"sqlite:///{asked.home / 'errorscope.db'}")
    packed, published = needed_data(LABELS).read_bytes(), needed_data(PUBLISHED).read_bytes()
    project = imported(store, Upload(LABELS, packed))
    people = calibration.from_rated(submitted(store, project.id), store.labels.raters(project.id), "google")
    against_published(people, gzip.decompress(published).decode())
    row_by_row(store, project, gzip.decompress(packed).decode())
    if asked.only_import:
        return
    data = store.projects.dataset(project.id)
    excluded = [s for s in data.systems if is_human_name(s)]
    machines = Dataset(data.segments, tuple(o for o in data.outputs if o.system not in excluded))
    print(f"without {', '.join(excluded)}: {len(machines.outputs)} outputs")
    metrics = tuple(asked.metrics.split(","))
    score(store, machines, metrics)
    judge(store, project, people, excluded, metrics)


def judge(
    store: Store, project: Project, people: calibration.HumanScores, excluded: list[str], metrics: tuple[str, ...]
) -> None:
    """Fit λ, then evaluate every metric at segment and system level."""
    scored = store.scores.signatures(project.id)
    tables = {s.signature: store.scores.table(project.id, s.signature) for s in scored}
    data = store.projects.dataset(project.id)
    view = view_of(data, scored, tables, registry.specs())
    kept = {k: v for k, v in people.scores.items() if k.system not in excluded}
    machines = calibration.HumanScores(people.signature, kept, people.raters, people.scheme)
    fitted: dict[str, float] = {}
    signed = next((s.signature for s in scored if s.metric == FITTED), "")
    measures: tuple[tuple[Measure, str], ...] = (("kendall", "pooled"), ("kendall", "segment"))
    for measure, group in measures if signed else ():
        started = time.monotonic()
        points = calibration.points(tables[signed], machines)
        found = calibration.fit(points, calibration.LambdaFitOptions(measure, group), PRESETS)  # type: ignore[arg-type]
        fitted[group] = found.lam
        print(
            f"\nλ by {measure} ({group}): {format_lambda(found.lam)} {found.to_json()} in {time.monotonic() - started:.1f} s"
        )
    choices = [AgreementOptions(), AgreementOptions(group="segment"), AgreementOptions(level="system")]
    for choice in choices:
        lam = fitted.get(choice.group, 1.0) if choice.level == "segment" else fitted.get("pooled", 1.0)
        joined = from_view(view, people, names=metrics, lam=lam, excluded=excluded)
        found_rows = evaluate(joined, choice)
        names = tuple(dict.fromkeys(r.statistic for r in found_rows.rows))
        print(f"\n{choice.level}, {choice.group}, λ = {format_lambda(lam)}, n = {len(joined.keys)}: {', '.join(names)}")
        for note in joined.notes:
            print(note)
        show(found_rows, names)
        first = names[0]
        matrix = compare_metrics(found_rows, first)  # type: ignore[arg-type]
        print(f"pairs of metrics that differ ({first}, Holm): {matrix.significant} of {len(matrix.pairs)}")


if __name__ == "__main__":
    main()
