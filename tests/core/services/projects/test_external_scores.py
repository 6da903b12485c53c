"""Scores from elsewhere as the services see them: one more column, one more metric, one more line of an export."""

import zipfile
from io import BytesIO

import pytest

from core.data import Dataset, ExternalScores, OutputKey, SourceFile, Value
from core.errors import ImportProblems
from core.metrics import registry
from core.ports.files import DatasetImport
from core.ports.store import Store
from core.services.calibrate.calibration import HumanScores
from core.services.evaluate import evaluate
from core.services.evaluate.evaluation_data import from_view
from core.services.export import export
from core.services.projects import adding
from core.services.projects.adding import ImportTarget
from core.services.projects.view import View
from tests.builders import small_dataset
from tests.stores import add_dataset, new_store, project_with, put_scores
from tests.views import view_of

KEYS = [o.key for o in small_dataset().outputs]
FILE = SourceFile("judge.csv", "ab" * 32)


def judge(higher: bool = False, name: str = "chrf") -> ExternalScores:
    """As many points as the place of the output, none for the last; called as a metric of ours."""
    values = {k: Value(float(i)) for i, k in enumerate(KEYS[:-1])} | {KEYS[-1]: Value(None, "undefined", "no answer")}
    return ExternalScores(name, higher, (FILE,), values)


def store() -> tuple[Store, int]:
    made = new_store()
    project = project_with(made, external=[judge()])
    put_scores(made, project, "chrf", lambda i, _: Value(10.0 - i), "chrf|v:1")
    return made, project


def view() -> View:
    made, project = store()
    scored = made.scores.signatures(project)
    tables = {s.signature: dict(made.scores.column(project, s.signature)) for s in scored}
    return view_of(made.projects.dataset(project), scored, tables, registry.specs())


def test_an_external_metric_is_a_separate_column() -> None:
    ours, theirs = view().columns
    assert (ours.name, ours.label, ours.arrow) == ("chrf", "chrF", "↑")
    assert (theirs.name, theirs.label, theirs.arrow, theirs.human) == ("external:chrf", "chrf (external)", "↓", False)
    assert "judge.csv (sha256 abababababab…)" in theirs.help
    assert view().table("external:chrf")[KEYS[-1]] == Value(None, "undefined", "no answer")


def test_it_is_evaluated_turned_where_lower_is_better() -> None:
    people = HumanScores("human|name:da", {k: (float(-i), None) for i, k in enumerate(KEYS)})
    joined = from_view(view(), people)
    theirs = joined.scored_metric("external:chrf")
    assert (theirs.label, theirs.turned) == ("chrf (external)", True)
    found = evaluate.evaluate(joined, evaluate.AgreementOptions(draws=5))
    # −0, −1, −2, … on both sides: every pair agrees
    assert found.of("external:chrf", "kendall").value == pytest.approx(1.0)


def test_it_leaves_in_every_export_with_its_signature() -> None:
    made, project = store()
    rows = [r for r in export.score_rows(made, project) if r.metric == "external:chrf"]
    assert len(rows) == 6
    assert rows[0].signature == f"external|name:chrf|direction:lower|file:judge.csv|sha256:{FILE.sha256}"
    assert (rows[-1].value, rows[-1].status, rows[-1].reason) == (None, "undefined", "no answer")
    with zipfile.ZipFile(BytesIO(export.scores_as_mtme(made, project).data)) as archive:
        assert "metric-scores/chrf_2.seg.score" in archive.namelist()
        assert rows[0].signature in archive.read("signatures.tsv").decode()


def test_what_an_import_would_do_is_said_before_it_is_done() -> None:
    made, project = store()
    fresh = ExternalScores("COMET", True, (FILE,), {KEYS[0]: Value(1.0)})
    compared = made.projects.compare(project, DatasetImport(Dataset((), ()), [judge(), fresh]))
    assert (compared.report.metric_scores, compared.report.unchanged, compared.problems) == (1, 6, ())
    other = DatasetImport(Dataset((), ()), [judge(higher=True)])
    clash = made.projects.compare(project, other)
    assert (clash.clashes, len(clash.problems)) == (("chrf",), 1)
    replaced = made.projects.compare(project, other, clash.clashes)
    assert (replaced.report.metric_scores, replaced.report.unchanged, replaced.clashes) == (6, 0, ())
    done = add_dataset(made, ImportTarget("", project), Dataset((), ()), [judge(name="other")])
    assert adding.sentence(done.report) == "New: 6 metric scores."
    assert adding.external_summary([judge()]) == "5 metric scores (chrf ↓)"
    assert adding.external_summary([]) == ""


def test_an_invalid_metric_name_leaves_no_project() -> None:
    made = new_store()
    with pytest.raises(ImportProblems, match="no |"):
        add_dataset(made, ImportTarget("p"), small_dataset(), [judge(name="a|b")])
    stranger = ExternalScores("m", True, (FILE,), {OutputKey("Z", "doc", "0"): Value(1.0)})
    with pytest.raises(ImportProblems):
        add_dataset(made, ImportTarget("p"), small_dataset(), [stranger])
    assert made.projects.list() == []
