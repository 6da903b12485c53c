"""All that `tests.bench.digests` asks of the product. Who moves or renames functions adapts this file only.

Results go to the digests as they are: the names of their fields become the names of columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

from cli.__main__ import COMMANDS
from core.calibration.calibrate import CalibrationPoint, calibrate
from core.calibration.learning import by_top, learn, ranking
from core.calibration.presets import PRESETS
from core.calibration.sampling import LabelCandidate, choose
from core.campaigns.design import design_from_json
from core.campaigns.imported import attention, campaign_agreement, slider_means, times
from core.campaigns.imported import ranking as imported_ranking
from core.campaigns.rater_evidence import verdicts
from core.data import Dataset, OutputKey, Value
from core.errors import UserError
from core.formats.error_cases import read_cases
from core.formats.files import Upload
from core.formats.role_names import is_human_name
from core.metrics import readiness, registry
from core.mqm.schemes import SCHEMES
from core.perturbations.registry import chosen
from core.ports.campaigns import Campaign
from core.ports.projects import Project
from core.ports.store import Store
from core.reports import campaign_results, score_tables
from core.scoring.dataset import score_dataset
from core.services.calibrate import calibration, lambda_sensitivity
from core.services.campaigns import comparison, files, monitor, people, planning
from core.services.campaigns.answers import judgements, read_labels
from core.services.campaigns.quality import submitted_units
from core.services.evaluate import evaluate, evaluation_data, length_and_bias, significance
from core.services.export.files import EXPORTS
from core.services.labels.agreement import agreement
from core.services.labels.judgements import number_agreement
from core.services.projects import adding, label_import, sample
from core.services.projects.adding import ImportTarget
from core.services.projects.texts import StoredTexts
from core.services.projects.view import View, build
from core.services.robustness import combining, nli_weights
from core.services.robustness.adversarial import answer
from core.text.edits import Change
from db.store import open_store
from tests.cli.program import run, run_program
from tests.core.services.campaigns import filled
from tests.labels import submitted

REFINEMENTS = ("bartscore++", "bartscore++-p", "bartscore++-r", "bartscore++-faithfulness")
FORMATS = tuple(EXPORTS)
CAMPAIGN_FORMATS = tuple(files.FORMATS)
Human = calibration.HumanScores


def command(name: str, *arguments: str) -> dict[str, Any]:
    """Run a command; return its exit status and what it printed. Workers handle signals, so they have a process of their own."""
    done = (run_program if name == "workers" else run)(name, *arguments)
    return {"status": done.returncode, "stdout": done.stdout, "stderr": done.stderr}


def commands() -> list[str]:
    """Return the names of all commands."""
    return list(COMMANDS)


def store_at(path: Path) -> Store:
    return open_store(url(path))


def url(path: Path) -> str:
    return f"sqlite:///{path}"


def sample_project(store: Store, *, recorded: bool = True) -> Project:
    """Return the sample project, created at the first call, with recorded scores or with none."""
    found = sample.ensure(store, sample.SCORES if recorded else Path("no recorded scores"))
    if found is None:
        raise ValueError("the database has other projects")
    return found


def imported_labels(store: Store, path: Path, name: str, reference: str = "") -> Project:
    """Return a new project made of a label file, with the outputs of a system as references."""
    read = label_import.read_label_files([Upload(path.name, path.read_bytes())])
    project = label_import.import_labels(store, ImportTarget(name), read).project
    if reference:
        adding.use_as_references(store, project.id, reference)
    return store.projects.get(project.id)


def project_named(store: Store, name: str) -> Project:
    return next(p for p in store.projects.list() if p.name == name)


def ready_metrics() -> list[str]:
    """Return the metrics that run with the bundled weights, and those without a model."""
    return [name for name, of in readiness.of_all().items() if of.state == "ready"]


def score(store: Store, project: Project, metrics: Sequence[str], segments: int | None = None) -> None:
    """Score a project, or the outputs of so many segments drawn with a fixed seed, human texts aside."""
    data = store.projects.dataset(project.id)
    keys = [s.key for s in data.segments]
    if segments is not None:
        keys = Random(0).sample(keys, min(segments, len(keys)))
    wanted = set(keys)
    part = Dataset(
        tuple(s for s in data.segments if s.key in wanted),
        tuple(o for o in data.outputs if o.key.segment in wanted and not is_human_name(o.system)),
    )
    score_dataset(part, registry.chosen(metrics), store.scores)


def scores(store: Store, project: Project) -> Iterator[tuple[str, list[tuple[object, ...]]]]:
    """Yield each metric's name with its values in the order of the project."""
    for by in store.scores.signatures(project.id):
        table = dict(store.scores.column(project.id, by.signature))
        yield by.metric, [(*key, by.signature, v.value, v.status, v.reason, dict(v.parts)) for key, v in table.items()]


class Statistics:
    """What the pages compute from the scores and labels of a project."""

    def __init__(self, store: Store, project: Project) -> None:
        self.store, self.project = store, project
        self.index = store.projects.index(project.id)
        self.labels = submitted(store, project.id)
        self.raters = sorted(store.labels.raters(project.id))
        self.view = self._view()
        self.excluded = [s for s in self.index.systems if is_human_name(s)]

    def _view(self) -> View:
        store, project = self.store, self.project

        def read(entry: Any) -> Any:
            if isinstance(entry, str):
                return store.projects.human_score(project.id, entry)
            return store.scores.column(project.id, entry.signature)

        texts = StoredTexts(store.projects, project.id, len(project.systems))
        scored = store.scores.signatures(project.id)
        return build(self.index, texts, scored, project.human_scores, read, registry.specs())

    def from_labels(self, scheme: str = "google") -> Human:
        return calibration.from_rated(self.labels, self.raters, scheme)

    def from_score(self, name: str) -> Human:
        column = self.store.projects.human_score(self.project.id, name)
        values = {key: v.value for key, v in column.items() if v.value is not None}
        return calibration.from_score(values, name, higher_is_better=True)

    def human_scores(self, human: Human) -> list[tuple[object, ...]]:
        return [(*key, *value) for key, value in human.scores.items()]

    def joined(self, human: Human, metrics: Sequence[str], lam: float = 1.0) -> Any:
        return evaluation_data.from_view(self.view, human, names=metrics, lam=lam, excluded=self.excluded)

    def agreement_table(self, joined: Any, level: Any, group: Any, unit: Any) -> dict[str, Any]:
        """Return metrics and baselines under every statistic with intervals, and the tests between metrics."""
        found = evaluate.evaluate(joined, evaluate.AgreementOptions(level, group, unit))
        tests: dict[str, Any] = {}
        if level == "system":
            found = significance.with_soft_intervals(found)
        tested = [row.statistic for row in found.rows if row.statistic != "soft_pairwise"]
        for statistic in dict.fromkeys(tested):
            tests[statistic] = _or_reason(lambda name=statistic: significance.compare_metrics(found, name).pairs)  # type: ignore[misc]
        return {"rows": found.rows, "tests": tests, "notes": joined.notes}

    def systems(self, joined: Any, names: Sequence[str]) -> dict[str, Any]:
        """Return every pair of systems and the ranges of ranks, by human score and by metric, over segments and documents."""
        return {
            f"{name}, {unit}": significance.compare_all_systems(joined, name, unit=unit)
            for name in (significance.HUMAN, *names)
            for unit in ("segment", "document")
        }

    def subsets(self, joined: Any) -> dict[str, Any]:
        """Return the agreement on the best systems, and in buckets of segments."""
        choice = evaluate.AgreementOptions()
        cells = [self.index.cell(key) for key in joined.keys]
        sizes = [float(self.index.lengths[cell]) for cell in cells if cell is not None]
        tops = significance.top_systems(joined, choice, "kendall")
        buckets = [significance.buckets(joined, choice, "kendall", by, sizes) for by in ("length", "quality")]
        return {"best systems": _subsets(tops), "buckets": [_subsets(of) for of in buckets]}

    def disagreements(self, joined: Any) -> dict[str, Any]:
        return {
            name: length_and_bias.disagreements(joined.keys, of, joined.human)[:200]
            for name, of in joined.scores.items()
        }

    def bias_and_lengths(self, joined: Mapping[str, Any]) -> dict[str, Any]:
        same = length_and_bias.same_outputs(joined)
        if not same:
            return {}
        first = next(iter(same.values()))
        choice, baseline = evaluate.AgreementOptions(), length_and_bias.baseline_of(first.scored_metrics)
        found: dict[str, Any] = {"bias": length_and_bias.bias(same, first.systems[:3])}
        for by in ("outputs", "references", "source"):
            of = length_and_bias.segment_lengths(self.view, first.keys, by)
            found[by] = _or_reason(lambda of=of, by=by: length_and_bias.by_length(same, of, by, baseline, choice))  # type: ignore[misc]
        evaluations = {name: evaluate.evaluate(one, choice) for name, one in joined.items()}
        found["every score"] = score_tables.human_scores_latex(evaluations, "kendall").splitlines()
        return found

    def rater_agreement(self) -> dict[str, Any]:
        """Return the agreement of the raters under each weight scheme, and of their numbers."""
        of_labels = {
            name: _or_reason(lambda name=name: agreement(self.store, self.project.id, self.labels, name))  # type: ignore[misc]
            for name in SCHEMES
        }
        return {"labels": of_labels, "numbers": number_agreement(judgements(self.store, self.project.id))}

    def points(self, metric: str, human: Human) -> tuple[CalibrationPoint, ...]:
        column = self.view.column(metric)
        table = dict(self.store.scores.column(self.project.id, column.signature))
        return calibration.points(table, human)

    def calibrations(self, metric: str, human: Human, draws: int = 100) -> dict[str, Any]:
        """Return λ by every measure and grouping with its intervals."""
        data = self.points(metric, human)
        fits = {
            f"{measure}, {group}": calibration.LambdaFitOptions(measure, group, draws=draws)
            for measure in ("kendall", "spearman", "pearson", "acc_eq")
            for group in ("pooled", "segment", "system")
        }
        return {
            name: _or_reason(lambda choice=choice: calibrate(data, **choice._asdict(), presets=PRESETS).to_json())  # type: ignore[misc]
            for name, choice in fits.items()
        }

    def lambda_by_labels(self, metric: str, human: Human, metrics: Sequence[str]) -> dict[str, Any]:
        """Return the learning curve, λ on the best systems, and what is drawn to be labelled next."""
        data = self.points(metric, human)
        order = [s.system for s in ranking(data)]
        candidates = [LabelCandidate(p.key, -p.dist_exp - p.dist_imp, p.dist_exp, p.dist_imp) for p in data]
        joined = self.joined(human, metrics)
        return {
            "learning": learn(data, draws=50),
            "ranking": ranking(data),
            "best systems": by_top(data, draws=50),
            "metrics at top": lambda_sensitivity.metrics_at_top(joined, order, "kendall", "pooled"),
            "drawn": {m: choose(candidates, 20, method=m, seed=1) for m in ("stratified", "informative")},
        }

    def lambda_by_raters(self, metric: str) -> dict[str, Any]:
        """Return λ for each rater and under each weight scheme, with the order of the systems."""
        column = self.view.column(metric)
        table: Mapping[OutputKey, Value] = dict(self.store.scores.column(self.project.id, column.signature))
        choice, schemes = calibration.LambdaFitOptions(draws=100), list(SCHEMES.values())
        by_rater = lambda_sensitivity.by_rater(self.labels, self.raters, schemes[0], table, choice)
        by_scheme = lambda_sensitivity.by_scheme(self.labels, self.raters, schemes, table, choice)
        return {
            "raters": by_rater,
            "schemes": by_scheme,
            "same order": [lambda_sensitivity.same_order(by_scheme[0], one) for one in by_scheme],
        }


def _subsets(found: Sequence[Any]) -> list[tuple[object, ...]]:
    return [(one.label, one.outputs, one.evaluation.rows) for one in found]


def _or_reason(work: Callable[[], Any]) -> Any:
    """Return a result, or why there is none."""
    try:
        return work()
    except UserError as error:
        return {"refused": str(error)}


def campaign(folder: Path, protocol: Any) -> dict[str, Any]:
    """Return the results of a simulated campaign: comparison of the systems, verdicts on raters, plan, and files."""
    store = store_at(folder / f"campaign-{protocol}.db")
    made = filled.started(store, protocol, people=("Ana", "Ben", "Chi"), dataset=filled.texts(3, 4), overlap=2)
    begin = datetime(2026, 3, 2, 9, tzinfo=UTC)
    filled.work(store, made, begin=begin)
    made = store.campaigns.get(made.id)
    units = {unit: comparison.compare(store, made, unit) for unit in ("item", "document")}
    judged = verdicts(submitted_units(store, made, read_labels(store, made).answers))
    return {
        "comparison": units,
        "latex": campaign_results.as_latex(units["item"], made.name).splitlines(),
        "verdicts": judged,
        "files": {name: _campaign_export(store, made, name) for name in CAMPAIGN_FORMATS},
        "pay": people.pay_table(store, made).splitlines(),
        "progress": monitor.snapshot(store, made, datetime(2026, 3, 9, tzinfo=UTC)).progress,
        "plan": _plan(store, made),
    }


def _campaign_export(store: Store, made: Campaign, name: str) -> Any:
    def write() -> list[list[str]]:
        written = files.export(store, made, name)
        return [*(text.splitlines() for text in written.texts), list(written.lost)]

    return _or_reason(write)


def _plan(store: Store, made: Campaign) -> dict[str, Any]:
    design = design_from_json(made.design)
    outline = store.projects.index(made.project_id).outline
    if planning.prefers(design):
        return {"preference": planning.detectable_preference(outline, design)}
    variances = {"assumed": planning.assumed(design), "pilot": planning.pilot(store, made.project_id, design).variances}
    return {
        name: [of, planning.detectable(outline, design, of), planning.detectable_curve(outline, design, of)]
        for name, of in variances.items()
    }


def campaign_of_others(path: Path, texts: Path | None, kind: str) -> dict[str, Any]:
    """Return the statistics of a campaign file of another tool."""
    given = None if texts is None else Upload(texts.name, texts.read_bytes())
    file = files.read_campaign_file(kind, Upload(path.name, path.read_bytes()), given)
    return {
        "ranking": imported_ranking(file, seed=0), "agreement": campaign_agreement(file, seed=0), "times": times(file),
        "attention": attention(file), "sliders": list(slider_means(file).values()),
    }  # fmt: skip


def combined(statistics: Statistics, human: Human, cases: Path) -> dict[str, Any]:
    """Return the weights of an NLI metric beside others (MENLI), and the 15 strategies."""
    nli = registry.load_metric("nli")
    read = read_cases([Upload(cases.name, cases.read_bytes())]).cases
    suite = combining.CaseSuite(cases.name, tuple(read), False)
    metrics = [nli, *registry.chosen(["chrf", "bertscore"])]
    answered = answer(read, metrics)
    names = [m.spec.name for m in metrics]
    tables: dict[str, Any] = {
        name: dict(statistics.store.scores.column(statistics.project.id, statistics.view.column(name).signature))
        for name in names
    }
    scores = {key: value for key, (value, _) in human.scores.items()}
    first = combining.part(nli)
    found: dict[str, Any] = {}
    paths: dict[str, Any] = {}
    for metric in metrics[1:]:
        both = combining.pair(first, combining.part(metric), tables, scores, [(suite, answered)])
        if both is None or both.judged is None or both.attacked is None:
            found[metric.spec.name] = None
            continue
        paths[metric.spec.name] = nli_weights.path(both.judged, both.attacked)
        found[metric.spec.name] = {
            "best": nli_weights.best_weight(both.judged, both.attacked, draws=100),
            "path": paths[metric.spec.name],
            "steps": nli_weights.accuracy_steps(both.attacked),
        }
    found["improvements"] = nli_weights.improvements(paths)
    choice = calibration.LambdaFitOptions()
    found["strategies"] = combining.strategies(nli, tables, scores, [(suite, answered)], choice, "human")
    return found


def perturbed(texts: Sequence[str]) -> dict[str, list[str]]:
    """Return the texts that each perturbation makes of these."""
    made = {one.name: [one.perturb(text, seed=1) for text in texts] for one in chosen()}
    return {name: [m.text for m in of if isinstance(m, Change)] for name, of in made.items()}
