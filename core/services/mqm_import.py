"""Files of labels, in whatever format, into a project: the outputs they hold, labels under the names of their raters, scores."""

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
)
from core.errors import ImportProblems, Problem
from core.formats import judgements
from core.formats.external import merge
from core.formats.files import Upload
from core.formats.label_file import Severities
from core.formats.label_formats import FORMATS, guess, label_format
from core.formats.problems import Collector, counted, shown
from core.mqm.actions import label_actions
from core.mqm.log import fold
from core.ports import LabelBatch, Store, Told, nobody
from core.services import external
from core.services import judgements as numbers
from core.services.adding import Imported, Target


class MqmFiles(NamedTuple):
    """What the files hold together. With `problems` nothing is imported; `warnings` are oddities that were read anyway.

    What follows from `judgements` is not among the human scores of `dataset`, but of `scored`.
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
        """`529 segments × 15 systems, labels of 7935 outputs by 6 raters`."""
        size = f"{counted(len(self.dataset.segments), 'segment')} × {counted(len(self.dataset.systems), 'system')}"
        names = ", ".join(dict.fromkeys(h.name for h in self.dataset.human_scores))
        scores = f"{counted(len(self.dataset.human_scores), 'human score')} ({names})" if names else ""
        of_raters, of_metrics = numbers.summary(self.judgements), external.summary(self.external)
        return ", ".join(filter(None, (size, self.labels(), scores, of_raters, of_metrics)))

    def labels(self) -> str:
        """`labels of 7935 outputs by 6 raters`; "" where the files hold scores only."""
        outputs, raters = {r.key for r in self.rated}, {r.rater for r in self.rated}
        return f"labels of {counted(len(outputs), 'output')} by {counted(len(raters), 'rater')}" if outputs else ""


def without_texts(files: Sequence[Upload], formats: Mapping[str, str]) -> list[str]:
    """The names of the files that hold no texts in their format, so that the outputs they speak of must be known."""
    return [
        f.name
        for f in dict.fromkeys(files)
        if FORMATS[formats[f.name]].needs_texts and not (formats[f.name] == "judgements" and judgements.holds_texts(f))
    ]


def read(
    files: Sequence[Upload],
    formats: Mapping[str, str] | None = None,
    texts: Dataset | None = None,
    severities: Severities | None = None,
    metrics: Mapping[str, tuple[str, bool]] | None = None,
) -> MqmFiles:
    """Read the files into one, each in its format (guessed by default); `texts` for the formats that hold none.

    `metrics` says of files of metric scores what the metric is called, and whether higher is better.
    Never raises for what a user may upload; exact copies of a file are read once.
    """
    segments: dict[SegmentKey, Segment] = {}
    outputs: dict[OutputKey, str] = {}
    scores: dict[tuple[str, str, str, str], float] = {}
    judged: dict[tuple[OutputKey, str, str], float] = {}
    computed: dict[str, ExternalScores] = {}
    rated: list[RatedOutput] = []
    warnings: list[Problem] = []
    problems = Collector()
    for file in dict.fromkeys(files):
        try:
            name = (formats or {}).get(file.name) or guess(file) or "google"
            found = label_format(name).read(file, severities or Severities(), texts)
            for of_metric in found.external:
                called, higher = (metrics or {}).get(file.name, (of_metric.name, of_metric.higher_is_better))
                of_metric = changed(of_metric, name=called, higher_is_better=higher)
                problems.extend(external.name_problems([(called, file.name, "")]))
                computed[called] = merge(computed.get(called), of_metric).scores
        except ImportProblems as error:
            problems.extend(error.problems)
            continue
        rated += found.rated
        warnings += found.warnings
        for segment in found.dataset.segments:
            was = segments.setdefault(segment.key, segment)
            if segment.source not in (None, was.source) and was.source is not None:
                _differs(problems, file.name, f"source of segment {segment.segment_id}", segment.source, was.source)
            segments[segment.key] = Segment(
                *segment.key, was.source or segment.source, was.references or segment.references
            )
        for output in found.dataset.outputs:
            if (text := outputs.setdefault(output.key, output.text)) != output.text:
                place = f"output of {output.system}, segment {output.segment_id}"
                _differs(problems, file.name, place, output.text, text)
        for h in found.dataset.human_scores:
            if (value := scores.setdefault(h[:4], h.value)) != h.value:
                place = f"{h.name} of {h.system}, segment {h.segment_id}"
                _differs(problems, file.name, place, f"{h.value:g}", f"{value:g}")
        for j in found.judgements:
            if (value := judged.setdefault(j[:3], j.value)) != j.value:
                place = f"{j.name} of {j.key.system}, segment {j.key.segment_id}, by {j.rater}"
                _differs(problems, file.name, place, f"{j.value:g}", f"{value:g}")
    if problems:
        return MqmFiles(Dataset((), ()), (), tuple(warnings), problems.closed())
    order = {key: i for i, key in enumerate(segments)}
    written = (Output(*key, text) for key, text in sorted(outputs.items(), key=lambda o: order[o[0].segment]))
    human = tuple(HumanScore(*key, value) for key, value in scores.items())
    given = tuple(Judgement(*of, value) for of, value in judged.items())
    return MqmFiles(
        Dataset(tuple(segments.values()), tuple(written), human), tuple(rated), tuple(warnings), judgements=given,
        external=tuple(computed.values()),
    )  # fmt: skip


def _differs(problems: Collector, file: str, place: str, found: str | None, before: str | None) -> None:
    todo = "Keep one of the two, or import the files into two projects"
    problems.add(file, 0, place, shown(found or ""), f"{shown(before or '')}, as in the file before", todo)


def import_labels(
    store: Store, target: Target, found: MqmFiles, tell: Told = nobody, replace: Collection[str] = (),
    corrected: Collection[str] = (),
) -> Imported:  # fmt: skip
    """Import outputs, scores and labels in one transaction: all of the files, or nothing and no new project.

    Importing a file twice adds nothing; further raters add to what is there. What raters have since made of imported labels stays; the notes say where the
    files have it otherwise. Scores of a metric take the place of those there are where `replace` names it, judgements that of all the same raters gave under a name in `corrected`. Raises `ImportProblems` and
    `UserError` as `adding.add` does.
    """
    if found.problems:
        raise ImportProblems(found.problems)
    external.check_names(found.external)
    new = target.project_id is None
    project_id = store.projects.create(target.name).id if target.project_id is None else target.project_id
    try:
        events = store.labels.events(project_id)
        wanted = label_actions(found.rated, fold(events), {e.action.id for e in events})
        batches = [LabelBatch(rater, segment, actions) for (rater, segment), actions in wanted.actions.items()]
        report = store.projects.add(
            project_id,
            found.dataset,
            batches,
            tell,
            found.judgements,
            external=found.external,
            replace=replace,
            corrected=corrected,
        )
    except BaseException:
        if new:
            store.projects.delete(project_id)
        raise
    return Imported(store.projects.get(project_id), report, wanted.notes, report.labelled)
