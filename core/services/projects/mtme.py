"""Read the files of a language pair in mt-metrics-eval's layout: texts, human scores, error spans, and metric scores."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from core.data import Dataset, OutputKey
from core.errors import ImportProblems, Problem
from core.formats.files import Upload
from core.formats.given_roles import files_of
from core.formats.lines import stage_roles
from core.formats.mapping import LineRoles
from core.formats.mtme_folder import MtmeFiles
from core.formats.mtme_score import higher_is_better
from core.formats.streams.file_rows import FileRows
from core.formatting import format_count
from core.services.projects import label_import
from core.services.projects.label_import import LabelFiles

NO_TRANSLATION = "[No translation supplied]"
"""The line of mt-metrics-eval for a text that is missing."""


def read_texts(files: Mapping[str, Upload], roles: LineRoles) -> tuple[Dataset, frozenset[OutputKey]]:
    """Return the texts, with an output for each line of each system, and the outputs that are missing (`NO_TRANSLATION`).

    Lines of score files belong to all outputs; `without` then leaves the missing ones out. Missing sources and references are left out
    here. Raises `ImportProblems`.
    """
    rows = FileRows()
    dataset = stage_roles({name: rows.add_lines(files[name]) for name in files_of(roles)}, roles).dataset()
    segments = tuple(
        replace(
            s,
            source=None if s.source == NO_TRANSLATION else s.source,
            references=tuple(text for text in s.references if text != NO_TRANSLATION),
        )
        for s in dataset.segments
    )
    return replace(dataset, segments=segments), frozenset(o.key for o in dataset.outputs if o.text == NO_TRANSLATION)


def without(texts: Dataset, missing: Collection[OutputKey]) -> Dataset:
    """Return the texts and human scores without those of missing outputs."""
    if not missing:
        return texts
    scores = tuple(h for h in texts.human_scores if OutputKey(*h[:3]) not in missing)
    return replace(texts, outputs=tuple(o for o in texts.outputs if o.key not in missing), human_scores=scores)


def missing_sentence(missing: Collection[OutputKey]) -> str:
    """Return what is left out because outputs are missing, or ""."""
    n = format_count(len(missing), "output")
    return f"{n} left out, with their scores: their text is “{NO_TRANSLATION}”." if missing else ""


def read_mtme(files: Sequence[Upload], chosen: MtmeFiles) -> LabelFiles:
    """Return the texts, scores of outputs, and error spans of all files. Never raises for invalid files; the result lists the problems."""
    by_name = {file.name: file for file in files}
    try:
        texts, missing = read_texts(by_name, chosen.roles)
    except ImportProblems as error:
        return LabelFiles(Dataset((), ()), (), problems=tuple(error.problems))
    kinds = (("mtme-score", chosen.human), ("mtme", chosen.spans), ("mtme-metric", chosen.metrics))
    formats = {of.file: kind for kind, some in kinds for of in some}
    if not formats:
        return LabelFiles(without(texts, missing), ())
    named = {of.file: (of.name, True) for of in chosen.metrics}
    labels = label_import.read_label_files([by_name[name] for name in formats], formats, texts, metrics=named)
    external = []
    warnings = [Problem("", 0, "", sentence, "texts", "") for sentence in [missing_sentence(missing)] if sentence]
    for scores in labels.external:
        higher = higher_is_better(scores.name, scores.values.values())
        values = {key: value for key, value in scores.values.items() if key not in missing}
        external.append(replace(scores, higher_is_better=higher, values=values))
        if not higher:
            todo = "Lower is assumed to be better, because of the name and because no score is negative"
            warnings.append(
                Problem("", 0, scores.name, "an error rate", "higher is better, as in mt-metrics-eval", todo)
            )
    return labels._replace(
        dataset=without(labels.dataset, missing), rated=tuple(r for r in labels.rated if r.key not in missing),
        warnings=(*labels.warnings, *warnings), external=tuple(external),
    )  # fmt: skip
