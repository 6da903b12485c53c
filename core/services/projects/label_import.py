"""Read label files of any format, or the files of a language pair in mt-metrics-eval's layout, and import them into a project:
outputs, labels by rater, and scores."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace as changed
from typing import NamedTuple

from core.data import (
    Dataset,
    ExternalScores,
    HumanScore,
    Judgement,
    Output,
    OutputKey,
    RatedOutput,
    Segment,
    SegmentKey,
    Span,
    distinct_errors,
    grouped,
)
from core.errors import ImportProblems, Problem
from core.formats.external import merge
from core.formats.files import Upload
from core.formats.given_roles import file_roles_of
from core.formats.labels import judgements
from core.formats.labels.label_file import Severities, repeated_errors
from core.formats.labels.label_formats import FORMATS, guess, label_format
from core.formats.lines import stage_roles
from core.formats.mapping import LineRoles
from core.formats.mtme_folder import MtmeFiles
from core.formats.mtme_score import higher_is_better
from core.formats.parsing.cells import Meter
from core.formats.problems import Collector, shown
from core.formats.streams.file_rows import FileRows
from core.formatting import format_count
from core.mqm.actions import label_actions
from core.mqm.log import fold
from core.ports.files import DatasetImport
from core.ports.labels import LabelBatch
from core.ports.store import Store
from core.progress import Progress, no_progress
from core.services.labels import judgements as numbers
from core.services.projects import adding
from core.services.projects.adding import Imported, ImportTarget, choose_typology
from core.services.projects.task import task_of


class LabelFiles(NamedTuple):
    """The contents of all files. With `problems` nothing can be imported; `warnings` are oddities that were read anyway.

    Scores derived from `judgements` are among the human scores of `scored`, not of `dataset`.
    """

    dataset: Dataset
    rated: tuple[RatedOutput, ...]
    warnings: tuple[Problem, ...] = ()
    problems: tuple[Problem, ...] = ()
    judgements: tuple[Judgement, ...] = ()
    external: tuple[ExternalScores, ...] = ()

    @property
    def scored(self) -> Dataset:
        return numbers.with_scores(self.dataset, self.judgements)

    def summary(self) -> str:
        """Return `529 segments × 15 systems, labels of 7935 outputs by 6 raters`."""
        size = f"{format_count(len(self.dataset.segments), 'segment')} × {format_count(len(self.dataset.systems), 'system')}"
        names = ", ".join(dict.fromkeys(h.name for h in self.dataset.human_scores))
        scores = f"{format_count(len(self.dataset.human_scores), 'human score')} ({names})" if names else ""
        of_raters, of_metrics = numbers.summary(self.judgements), adding.external_summary(self.external)
        return ", ".join(filter(None, (size, self.labels(), scores, of_raters, of_metrics)))

    def labels(self) -> str:
        """Return `labels of 7935 outputs by 6 raters`, or "" if there are only scores."""
        outputs, raters = {r.key for r in self.rated}, {r.rater for r in self.rated}
        return (
            f"labels of {format_count(len(outputs), 'output')} by {format_count(len(raters), 'rater')}"
            if outputs
            else ""
        )


def without_texts(files: Sequence[Upload], formats: Mapping[str, str]) -> list[str]:
    """Return the names of the files whose format has no texts, so that their outputs must be in the project."""
    return [
        f.name
        for f in dict.fromkeys(files)
        if FORMATS[formats[f.name]].needs_texts and not (formats[f.name] == "judgements" and judgements.holds_texts(f))
    ]


def read_label_files(
    files: Sequence[Upload],
    formats: Mapping[str, str] | None = None,
    texts: Dataset | None = None,
    severities: Severities | None = None,
    metrics: Mapping[str, tuple[str, bool]] | None = None,
) -> LabelFiles:
    """Read all files together, each in its format (guessed by default). `texts` has the outputs for formats without texts.

    `metrics` gives (metric name, higher is better) for files of metric scores. Exact copies of a file are read once, and exact
    duplicates of an error in several files count once. Never
    raises for invalid files; the result lists the problems.
    """
    segments: dict[SegmentKey, Segment] = {}
    outputs: dict[OutputKey, str] = {}
    scores: dict[tuple[str, str, str, str], float] = {}
    judged: dict[tuple[OutputKey, str, str], float] = {}
    computed: dict[str, ExternalScores] = {}
    errors: dict[tuple[OutputKey, str], tuple[Span, ...]] = {}
    repeated = 0
    warnings: list[Problem] = []
    problems = Collector()
    systems = set[str]()
    for file in dict.fromkeys(files):
        try:
            name = (formats or {}).get(file.name) or guess(file) or "google"
            label_file = label_format(name).read(file, severities or Severities(), texts)
            systems.update(label_file.dataset.systems)
            Meter(file.name).systems(len(systems))
            for of_metric in label_file.external:
                called, higher = (metrics or {}).get(file.name, (of_metric.name, of_metric.higher_is_better))
                of_metric = changed(of_metric, name=called, higher_is_better=higher)
                problems.extend(adding.name_problems([(called, file.name, "")]))
                computed[called] = merge(computed.get(called), of_metric)
        except ImportProblems as error:
            problems.extend(error.problems)
            continue
        for r in label_file.rated:
            both = (*errors.get((r.key, r.rater), ()), *r.errors)
            errors[r.key, r.rater] = distinct_errors(both)
            repeated += len(both) - len(errors[r.key, r.rater])
        warnings += label_file.warnings
        for segment in label_file.dataset.segments:
            was = segments.setdefault(segment.key, segment)
            if segment.source not in (None, was.source) and was.source is not None:
                _differs(problems, file.name, f"source of segment {segment.segment_id}", segment.source, was.source)
            segments[segment.key] = Segment(
                *segment.key, was.source or segment.source, was.references or segment.references
            )
        for output in label_file.dataset.outputs:
            if (text := outputs.setdefault(output.key, output.text)) != output.text:
                place = f"output of {output.system}, segment {output.segment_id}"
                _differs(problems, file.name, place, output.text, text)
        for h in label_file.dataset.human_scores:
            if (value := scores.setdefault(h[:4], h.value)) != h.value:
                place = f"{h.name} of {h.system}, segment {h.segment_id}"
                _differs(problems, file.name, place, f"{h.value:g}", f"{value:g}")
        for j in label_file.judgements:
            if (value := judged.setdefault(j[:3], j.value)) != j.value:
                place = f"{j.name} of {j.key.system}, segment {j.key.segment_id}, by {j.rater}"
                _differs(problems, file.name, place, f"{j.value:g}", f"{value:g}")
    if problems:
        return LabelFiles(Dataset((), ()), (), tuple(warnings), problems.closed())
    order = {key: i for i, key in enumerate(segments)}
    written = (Output(*key, text) for key, text in sorted(outputs.items(), key=lambda o: order[o[0].segment]))
    human = tuple(HumanScore(*key, value) for key, value in scores.items())
    all_judgements = tuple(Judgement(*of, value) for of, value in judged.items())
    rated = tuple(RatedOutput(*of, spans) for of, spans in errors.items())
    warnings += repeated_errors("", repeated)
    warnings += _similar("rater", [*(r.rater for r in rated), *(j.rater for j in all_judgements)])
    warnings += _similar("system", [key.system for key in outputs])
    return LabelFiles(
        Dataset(tuple(segments.values()), tuple(written), human), rated, tuple(warnings), judgements=all_judgements,
        external=tuple(computed.values()),
    )  # fmt: skip


def _similar(kind: str, names: Sequence[str]) -> list[Problem]:
    """Return the warning about names that differ only in case and blanks."""
    by_letters = grouped(("".join(name.split()).casefold(), name) for name in dict.fromkeys(names))
    similar = [", ".join(map(shown, same)) for same in by_letters.values() if len(same) > 1]
    if not similar:
        return []
    got = f"names that differ only in case or blanks: {'; '.join(similar)}"
    todo = f"They are different {kind}s. If they are one, correct the file"
    return [Problem("", 0, kind, got, f"one name per {kind}", todo)]


def _differs(problems: Collector, file: str, place: str, got: str | None, before: str | None) -> None:
    todo = "Keep one of them, or import the files into two projects"
    problems.add(file, 0, place, shown(got or ""), f"{shown(before or '')}, as in an earlier file", todo)


def import_labels(
    store: Store, target: ImportTarget, label_files: LabelFiles, progress: Progress = no_progress, replace: Collection[str] = (),
    corrected: Collection[str] = (),
) -> Imported:  # fmt: skip
    """Import outputs, scores and labels: all of the files, or nothing and no new project.

    Importing a file twice adds nothing. Labels that raters have changed since, or change during a large import, stay as they are; the notes list
    where the files differ. Scores of metrics in `replace` replace the stored ones; judgements under names in `corrected` replace all
    that the same raters gave under these names. `progress` may raise to cancel. Raises `ImportProblems` and `UserError` as `adding.add` does.
    """
    if label_files.problems:
        raise ImportProblems(label_files.problems)
    adding.check_names(label_files.external)
    target.check_size(store, DatasetImport(label_files.dataset))
    with target.opened(store) as project_id:
        events = store.labels.events(project_id)
        planned = label_actions(label_files.rated, fold(events), {e.action.id for e in events})
        batches = [LabelBatch(rater, segment, actions) for (rater, segment), actions in planned.actions.items()]
        report = store.projects.add(
            project_id,
            label_files.dataset,
            batches,
            progress,
            label_files.judgements,
            external=label_files.external,
            replace=replace,
            corrected=corrected,
            new_project=target.project_id is None,
        )
        n_given = sum(len({action.system for action in batch.actions} - {None}) for batch in batches)
        notes = planned.notes
        if left_out := n_given - report.labelled:
            notes += (
                f"{format_count(left_out, 'output')}: the annotator worked on the segment during the import; not imported",
            )
        typology = ""
        if target.project_id is None:  # error spans have MQM categories
            typology = choose_typology(
                store, project_id, "other" if label_files.rated else task_of(label_files.dataset)
            )
    return Imported(store.projects.get(project_id), report, notes, report.labelled, typology)


NO_TRANSLATION = "[No translation supplied]"
"""The line of mt-metrics-eval for a text that is missing."""


def read_mtme_texts(files: Mapping[str, Upload], roles: LineRoles) -> tuple[Dataset, frozenset[OutputKey]]:
    """Return the texts, with an output for each line of each system, and the outputs that are missing (`NO_TRANSLATION`).

    Lines of score files belong to all outputs; `without_outputs` then leaves the missing ones out. Missing sources and references are left out
    here. Raises `ImportProblems`.
    """
    rows = FileRows()
    dataset = stage_roles(
        {name: rows.add_lines(files[name]) for name, role in file_roles_of(roles) if role != "unused"}, roles
    ).dataset()
    segments = tuple(
        changed(
            s,
            source=None if s.source == NO_TRANSLATION else s.source,
            references=tuple(text for text in s.references if text != NO_TRANSLATION),
        )
        for s in dataset.segments
    )
    return changed(dataset, segments=segments), frozenset(o.key for o in dataset.outputs if o.text == NO_TRANSLATION)


def without_outputs(texts: Dataset, missing: Collection[OutputKey]) -> Dataset:
    """Return the texts and human scores without those of missing outputs."""
    if not missing:
        return texts
    scores = tuple(h for h in texts.human_scores if OutputKey(*h[:3]) not in missing)
    return changed(texts, outputs=tuple(o for o in texts.outputs if o.key not in missing), human_scores=scores)


def missing_sentence(missing: Collection[OutputKey]) -> str:
    """Return what is left out because outputs are missing, or ""."""
    n = format_count(len(missing), "output")
    return f"{n} left out, with their scores: their text is “{NO_TRANSLATION}”." if missing else ""


def read_mtme(files: Sequence[Upload], chosen: MtmeFiles) -> LabelFiles:
    """Return the texts, scores of outputs, and error spans of all files. Never raises for invalid files; the result lists the problems."""
    by_name = {file.name: file for file in files}
    try:
        texts, missing = read_mtme_texts(by_name, chosen.roles)
    except ImportProblems as error:
        return LabelFiles(Dataset((), ()), (), problems=tuple(error.problems))
    kinds = (("mtme-score", chosen.human), ("mtme", chosen.spans), ("mtme-metric", chosen.metrics))
    formats = {of.file: kind for kind, some in kinds for of in some}
    if not formats:
        return LabelFiles(without_outputs(texts, missing), ())
    named = {of.file: (of.name, True) for of in chosen.metrics}
    labels = read_label_files([by_name[name] for name in formats], formats, texts, metrics=named)
    external = []
    warnings = [Problem("", 0, "", sentence, "texts", "") for sentence in [missing_sentence(missing)] if sentence]
    for scores in labels.external:
        higher = higher_is_better(scores.name, scores.values.values())
        values = {key: value for key, value in scores.values.items() if key not in missing}
        external.append(changed(scores, higher_is_better=higher, values=values))
        if not higher:
            todo = "Lower is assumed to be better, because of the name and because no score is negative"
            warnings.append(
                Problem("", 0, scores.name, "an error rate", "higher is better, as in mt-metrics-eval", todo)
            )
    return labels._replace(
        dataset=without_outputs(labels.dataset, missing), rated=tuple(r for r in labels.rated if r.key not in missing),
        warnings=(*labels.warnings, *warnings), external=tuple(external),
    )  # fmt: skip
