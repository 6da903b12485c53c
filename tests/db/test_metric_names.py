"""Scores stand under the name they were asked for by, in new databases and in those of version 0006."""

import hashlib
import json
import logging
import zlib
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, text

from core.data import Value
from core.metrics import registry
from core.models.kinds import configured_model
from core.ports.store import Store
from core.robustness.stress.report import as_json, from_json
from core.signature import content_key
from db.engine import reading, writing
from db.store import open_store
from tests.builders import counting_metric, small_dataset
from tests.core.metrics.expressions import baselines
from tests.core.metrics.test_names import usable
from tests.core.robustness.stress.fake_noise import CUT, PAD, of_words
from tests.core.robustness.stress.test_run import made as report_of
from tests.db.raw import rows
from tests.db.test_migrations import at_version
from tests.postgres import on_both
from tests.tiny_checkpoints import environment_of


@pytest.fixture
def database(request: pytest.FixtureRequest) -> str:
    """SQLite, except for tests of the migration."""
    return getattr(request, "param", "sqlite")


BERT = "bertscore|v:1|measure:f|layer:5|idf:refs-2-12345678|baseline:no|nrefs:best|model:org/m|rev:1"
MOVER = "moverscore|v:1|n:1|idf:references-2-12345678|layers:last5|pool:mean|distance:euclidean|nrefs:best|model:org/m|rev:1"
PLAIN = "moverscore|v:1|n:1|idf:own-2-12345678+2-87654321|layers:last5|pool:pmeans|distance:squared|nrefs:best|model:org/m|rev:1"
NLI = "nli/v:1/formula:e/direction:both/long:cut/model:bundled/nli-mini/rev:2"


def menli(other: str, w: str = "0.2", origin: str = "-3..1 (declared)", nli: str = NLI) -> str:
    return f"menli|v:1|w:{w}|rev:2+1|range_n:0..1 (declared)|range_m:{origin}|n:{nli}|m:{other.replace('|', '/')}"


def old_database(url: str, asked: list[str], stored: list[tuple[str, str]]) -> Engine:
    """A database of version 0006 with a finished job, and one score under each (metric, signature)."""
    engine = at_version(url, "0006")
    with writing(engine) as connection:
        job = (
            "INSERT INTO jobs (project_id, metrics, state, done, total, message, created, attempts) "
            "VALUES (1, :metrics, 'done', 1, 1, '', '2026-01-01 00:00:00', 0)"
        )
        connection.execute(text(job), {"metrics": json.dumps(asked)})
        for n, (metric, signature) in enumerate(stored, 1):
            given: dict[str, Any] = {"n": n, "metric": metric, "signature": signature, "digest": digest(signature)}
            connection.execute(text("INSERT INTO signatures VALUES (:n, :metric, :signature, :digest)"), given)
            connection.execute(text("INSERT INTO runs VALUES (:n, :n, '2026-01-01 00:00:00', 1, 0.5, '{}')"), {"n": n})
            connection.execute(
                text(
                    "INSERT INTO scores VALUES (:n, '0123456789abcdef0123456789abcdef', :n, :value, 'ok', '', '{}', NULL)"
                ),
                {"n": n, "value": n / 10},
            )
    return engine


def digest(signature: str) -> str:
    return hashlib.sha256(signature.encode()).hexdigest()


def names(url: str, asked: list[str], *stored: tuple[str, str]) -> list[str | None]:
    """The names of the stored scores after the update, None for those that are gone."""
    engine = old_database(url, asked, [*stored])
    store = open_store(url)
    found = {by.signature: by.metric for by in store.scores.signatures(1)}
    out: list[str | None] = []
    for n, (_, old) in enumerate(stored, 1):
        here = [signature for signature in found if signature.replace(" (given)", "") == old]
        out.append(found[here[0]] if here else None)
        if here:
            assert store.scores.values(here[0], ["0123456789abcdef0123456789abcdef"]) == {
                "0123456789abcdef0123456789abcdef": Value(n / 10)
            }
            with reading(engine) as connection:
                kept = connection.execute(text("SELECT digest FROM signatures WHERE id = :n"), {"n": n}).scalar()
            assert kept == digest(here[0])
        else:
            for table in ("scores", "runs"):
                assert rows(engine, f"SELECT * FROM {table} WHERE signature = {n}") == []
    engine.dispose()
    return out


@on_both
def test_moverscore_gets_the_options_of_its_signature(url: str) -> None:
    asked = ["moverscore", "moverscore|idf:references|pool:mean|distance:euclidean"]
    assert names(url, [], ("moverscore", MOVER), ("moverscore", PLAIN)) == [asked[1], asked[0]]


@on_both
def test_bertscore_gets_the_name_that_a_job_asked_for(url: str) -> None:
    assert names(url, ["chrf", "bertscore", "bertscore|idf:yes"], ("bertscore", BERT)) == ["bertscore|idf:yes"]


@on_both
def test_a_layer_that_was_asked_for_is_marked_in_the_signature(url: str) -> None:
    stored = ("bertscore|layer:5", BERT.replace("refs-2-12345678", "no"))
    assert names(url, ["bertscore|layer:5|idf:yes"], ("bertscore", BERT), stored) == [
        "bertscore|layer:5|idf:yes", "bertscore|layer:5",
    ]  # fmt: skip
    assert {by.signature.split("|")[3] for by in open_store(url).scores.signatures(1)} == {"layer:5 (given)"}


@on_both
@pytest.mark.parametrize(
    "asked", [[], ["bertscore|idf:yes", "bertscore|layer:5|idf:yes"], ["bertscore|measure:p|idf:yes"]]
)
def test_a_name_that_cannot_be_told_leaves_the_cache(
    url: str, asked: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "db.migrations"):
        assert names(url, asked, ("bertscore", BERT), ("chrf", "chrf|v:1")) == [None, "chrf"]
    assert "scores stored as 'bertscore' are removed" in caplog.text
    assert BERT in caplog.text


@on_both
def test_a_combination_gets_the_name_that_a_job_asked_for(url: str) -> None:
    asked = [
        "menli", "menli|with:moverscore", "menli|with:moverscore|w:0.5",
        "menli|with:moverscore%7Cpool%3Amean|range:declared", "menli|with:bertscore%7Cidf%3Ayes|nli:nli%7Cformula%3Ae-c",
    ]  # fmt: skip
    pooled = PLAIN.replace("pmeans", "mean")
    stored = [
        menli(PLAIN), menli(PLAIN, "0.5"), menli(pooled), menli(BERT, nli=NLI.replace("formula:e/", "formula:e-c/")),
        menli(BERT), menli("chrf|v:1"),
    ]  # fmt: skip
    found = names(url, asked, *(("menli", one) for one in stored[:5]), ("menli|with:chrf", stored[5]))
    assert found == [asked[1], asked[2], asked[3], asked[4], None, "menli|with:chrf"]


@on_both
def test_a_declared_range_is_marked_in_the_signature(url: str) -> None:
    asked = "menli|with:chrf|range:declared"
    assert names(url, [], (asked, menli("chrf|v:1"))) == [asked]
    assert "(declared) (given)|" in open_store(url).scores.signatures(1)[0].signature


@on_both
def test_an_option_without_effect_leaves_the_name(url: str) -> None:
    old = ("bartscore++-faithfulness|k:3|nt:probability", "bartscore++|lambda:1|v:1|variant:faithfulness")
    assert names(url, [], old) == ["bartscore++-faithfulness|k:3"]


@on_both
def test_a_stress_report_names_its_metrics(url: str) -> None:
    report = report_of(
        of_words(*[8] * 6), [CUT, PAD], [counting_metric("one"), counting_metric("two"), counting_metric("x")]
    )
    signatures = [MOVER, PLAIN, BERT]
    facts = tuple(
        m._replace(name=s.split("|")[0], label="L", signature=s)
        for m, s in zip(report.metrics, signatures, strict=True)
    )
    cells = tuple(
        c._replace(metric={"one": "moverscore", "two": "moverscore", "x": "bertscore"}[c.metric]) for c in report.cells
    )
    engine = old_database(url, [], [])
    packed = zlib.compress(as_json(report._replace(metrics=facts, cells=cells)).encode())
    with writing(engine) as connection:
        connection.execute(
            text("INSERT INTO stress_runs VALUES (1, 1, 'r', :settings, :report, '2026-01-01 00:00:00')"),
            {
                "settings": json.dumps({"metrics": ["moverscore", "moverscore", "bertscore"], "texts": 6}),
                "report": packed,
            },
        )
        connection.execute(
            text("INSERT INTO stress_runs VALUES (2, 1, 'bad', '{}', :report, '2026-01-01 00:00:00')"), {"report": b"x"}
        )
    store = open_store(url)
    found = from_json(store.stress.report(1, 1))
    wanted = ["moverscore|idf:references|pool:mean|distance:euclidean", "moverscore", "bertscore|layer:5|idf:yes"]
    assert [m.name for m in found.metrics] == wanted
    assert found.metrics[1].label == "L"
    assert [r.settings["metrics"] for r in store.stress.list(1) if r.name == "r"] == [wanted]
    for name, old in zip(wanted, ("one", "two", "x"), strict=True):
        assert [c.points for c in found.cells if c.metric == name] == [
            c.points for c in report.cells if c.metric == old
        ]
    engine.dispose()


@pytest.mark.extended
def test_scores_are_stored_under_every_name_as_it_was_asked_for(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, asked = small_dataset(1, ["A"]), list[str]()
    project = store.projects.create("p").id
    store.projects.add(project, data)
    digest_of_text = content_key(*data.items()[0][1])
    for name in sorted(registry.METRICS):
        with monkeypatch.context() as patched:
            for variable, value in (environment_of(name) | {"ERRORSCOPE_HOME": str(tmp_path)}).items():
                patched.setenv(variable, value)
            baselines(tmp_path, configured_model("encoder").name)
            here = [one for one in usable(name) if one.count("|") <= 1]
            here += ["bertscore|layer:5"] if name == "bertscore" else []
            for one in here:
                metric = registry.load(one).for_outputs([(key.segment, item) for key, item in data.items()])
                store.scores.put(metric.spec.name, metric.signature(), {digest_of_text: Value(1.0)}, 0.1)
            asked += here
    assert sorted(by.metric for by in store.scores.signatures(project)) == sorted(asked)
