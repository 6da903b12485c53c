"""`reproduce realsumm | qags | rank19 | newsroom` on small files in the forms in which the data sets are distributed."""

import gzip
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import pearsonr, spearmanr

from cli.reproduce import TABLES, summaries
from cli.reproduce_data import read_summaries
from core.errors import UserError
from core.metrics import registry
from core.progress import no_progress
from tests.tiny_checkpoints import environment

REFERENCE = "the cat sat on the mat and slept all day"
TEXTS = {"A": "the cat sat on the mat", "B": "a cat slept", "C": "dogs run all day and all night on the mat", "D": "no"}
SCORES = {"A": 0.4, "B": 0.9, "C": 0.2, "D": 0.1}


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    for key, value in environment().items():
        monkeypatch.setenv(key, value)


def document(name: str = "litepyramid_recall", turn: int = 0) -> dict[str, Any]:
    scores = dict(zip(TEXTS, [*SCORES.values()][turn:] + [*SCORES.values()][:turn], strict=True))
    return {
        "source": "die Katze saß auf der Matte",
        "references": [REFERENCE],
        "outputs": {s: {"text": t, "human": {name: scores[s]}} for s, t in TEXTS.items()},
    }


def unified(entry: dict[str, Any]) -> dict[str, Any]:
    summs = {s: {"sys_summ": o["text"], "scores": o["human"] | {"note": "x"}} for s, o in entry["outputs"].items()}
    return {"src": entry["source"], "ref_summ": REFERENCE, "sys_summs": summs}


def lines(path: Path, *entries: Any) -> Path:
    text = "\n".join(json.dumps(entry) for entry in entries) + "\n"
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def row(table: str, metric: str) -> str:
    return next(line for line in table.splitlines() if line.startswith(f"{metric} "))


def test_realsumm_is_the_mean_spearman_of_documents(tmp_path: Path) -> None:
    entries = [document(), document(turn=1)]
    table = summaries("realsumm", lines(tmp_path / "r.jsonl.gz", *entries))
    own = registry.load_metric("rouge1|stem:yes|measure:r")
    rated = read_summaries(tmp_path / "r.jsonl.gz")
    scores = [v.value for v in own.score([r.item for r in rated], no_progress)]
    rho = [
        spearmanr(scores[n * 4 : n * 4 + 4], [r.human["litepyramid_recall"] for r in rated[n * 4 : n * 4 + 4]])[0]
        for n in range(2)
    ]
    assert f" {100 * sum(rho) / 2:.2f} " in row(table, "rouge1|stem:yes|measure:r")
    assert "ROUGE: 49.75" in row(table, "rouge1|stem:yes|measure:r")
    assert "Vanilla BARTScore: 47.42" in row(table, "bartscore-r")
    assert "seq2seq" in row(table, "bartscore-r")
    assert "8 summaries of 2 documents, 4 systems" in table


def test_the_form_of_bartscores_files_gives_the_same_table(tmp_path: Path) -> None:
    entries = [document(), document(turn=2)]
    whole = tmp_path / "data.json"
    whole.write_text(json.dumps({str(n): unified(e) for n, e in enumerate(entries)}), encoding="utf-8")
    assert summaries("realsumm", whole) == summaries("realsumm", lines(tmp_path / "r.jsonl", *entries))


def qags(article: str, *sentences: tuple[str, str]) -> dict[str, Any]:
    return {
        "article": article,
        "summary_sentences": [
            {"sentence": s, "responses": [{"worker_id": n, "response": {"y": "yes", "n": "no"}[v]} for n, v in enumerate(votes)]}
            for s, votes in sentences
        ],
    }  # fmt: skip


def test_qags_counts_sentences_that_most_annotators_accept(tmp_path: Path) -> None:
    entries = [
        qags("the cat sat on the mat all day", ("the cat sat", "yyn"), ("the cat ran", "nny")),
        qags("prices rose in may and fell", ("prices rose in may", "yyy")),
        qags("dogs run fast in the park", ("cats sleep", "nnn")),
    ]
    rated = read_summaries(lines(tmp_path / "mturk_cnndm.jsonl", *entries))
    assert [(r.item.hypothesis, r.human["fact"]) for r in rated] == [
        ("the cat sat the cat ran", 0.5), ("prices rose in may", 1.0), ("cats sleep", 0.0)
    ]  # fmt: skip
    scores = [v.value for v in registry.load_metric("rouge1|stem:yes").score([r.item for r in rated], no_progress)]
    found = row(summaries("qags", tmp_path / "mturk_cnndm.jsonl"), "rouge1|stem:yes")
    assert f" {100 * pearsonr(scores, [0.5, 1.0, 0.0])[0]:.2f} " in found
    assert "ROUGE: 45.91 / 9.70" in found


def test_rank19_counts_pairs_that_are_strictly_right(tmp_path: Path) -> None:
    pairs = [
        ("the cat sat on the mat", "the cat sat", "a dog ran"),
        ("prices rose in may", "costs went up", "prices rose in may"),
        ("one two three", "one two", "one two"),
        ("we left at noon", "we left", "they came"),
    ]
    whole = tmp_path / "val_sentence_pairs.json"
    whole.write_text(
        json.dumps([dict(zip(("article_sent", "correct_sent", "incorrect_sent"), p, strict=True)) for p in pairs])
    )
    found = row(summaries("rank19", whole), "rouge1|stem:yes")
    assert " 50.00 " in found
    assert "ROUGE: 63.00" in found


def newsroom(path: Path, extra: str = "") -> Path:
    rows = [
        "ArticleID,System,ArticleText,SystemSummary,ArticleTitle,CoherenceRating,FluencyRating,InformativenessRating,RelevanceRating"
    ]
    for n, (system, text) in enumerate(TEXTS.items()):
        for rater in (0, 1):
            rows.append(f'7,{system},"die Katze, ""sie"" saß",{text},t,{n + rater},{n},{4 - n},{n % 3}')
    if extra:
        rows = [f"{line},{extra if i else 'ReferenceSummary'}" for i, line in enumerate(rows)]
    path.write_text("\r\n".join(rows) + "\r\n", encoding="utf-8")
    return path


def test_newsroom_averages_raters_and_reports_missing_references(tmp_path: Path) -> None:
    rated = read_summaries(newsroom(tmp_path / "n.csv"))
    assert [r.human["coherence"] for r in rated] == [0.5, 1.5, 2.5, 3.5]
    assert rated[0].item.source == 'die Katze, "sie" saß'
    table = summaries("newsroom", tmp_path / "n.csv")
    assert "ROUGE-1 needs a reference" in row(table, "rouge1|stem:yes").replace("(stemmed) ", "")
    assert "ROUGE: 9.46 / 10.36 / 13.04 / 14.73" in row(table, "rouge1|stem:yes")
    assert "Vanilla BARTScore: 67.89 / 67.00 / 64.67 / 60.51" in row(table, "bartscore-faithfulness")
    with_references = summaries("newsroom", newsroom(tmp_path / "m.csv", REFERENCE))
    assert "needs a reference" not in with_references


@pytest.mark.parametrize("name", ["data.pkl", "data.json", "data.jsonl.gz"])
def test_a_pickle_is_never_opened(name: str, tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
            return (Path.touch, (tmp_path / "opened",))  # type: ignore[return-value]

    data = pickle.dumps(Bomb())
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    with pytest.raises(UserError, match="pickles are not read|a Python pickle"):
        read_summaries(tmp_path / name)
    assert not (tmp_path / "opened").exists()


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("{}\n", "x.jsonl"),
        ('{"outputs": {"A": {"text": 3, "human": {}}}, "source": "s"}\n', "line 1"),
        (json.dumps(document()) + "\n{broken\n", "line 2"),
        ('[{"article_sent": "a", "correct_sent": "b"}]', "entry 1"),
        ('{"d": {"src": "a", "sys_summs": {"A": {"sys_summ": "b", "scores": {}}}}}', "document d"),
        (
            '{"article": "a", "summary_sentences": [{"sentence": "s", "responses": [{"response": "maybe"}]}]}\n',
            "line 1",
        ),
        ('{"article": "a", "summary_sentences": [{"sentence": "s", "responses": []}]}\n', "line 1"),
        ("", "x.jsonl"),
        ("[1]", "entry 1"),
        ("[" * 100_000, "line 1"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_place(text: str, where: str, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError) as error:
        read_summaries(path)
    assert where in str(error.value)
    assert "expected" in str(error.value)


def test_a_human_score_that_is_missing_is_named(tmp_path: Path) -> None:
    path = lines(tmp_path / "r.jsonl", document("coherence"))
    with pytest.raises(UserError, match="expected litepyramid_recall"):
        summaries("realsumm", path)


def test_every_metric_of_the_tables_is_there() -> None:
    for table in TABLES.values():
        for metric, _, figures in table.rows:
            assert registry.load_metric(metric).spec.name == metric
            assert len(figures) in (len(table.columns), 2)
