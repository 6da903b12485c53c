"""Reading a file twice as long takes about twice as many steps: calls and returns of functions, which a busy machine does not change."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cli import calibrate, evaluate, external_scores, human_scores
from core.data import Dataset, Output, RatedOutput, Segment, Span
from core.errors import UserError
from core.formats.campaigns import appraise, campaign_formats, pearmut, wmt25
from core.formats.campaigns.campaign_file import CampaignFile, CampaignRating
from core.formats.error_cases import read_cases, read_pairs
from core.formats.files import Upload
from core.formats.labels.label_formats import FORMATS
from core.services.projects import importing, label_import
from tests.core.formats.label_cases import written

N = 10
ERROR = Span("output", 0, 4, "text", "Major", "Accuracy/Mistranslation")
KEY = "system,doc_id,segment_id,"
DEMETR = {"mt_sent": "good", "pert_sent": "perturbed", "pert_name": "type", "eng_sent": "reference", "pert_check": True}
Reading = tuple[str, Callable[[], object]]


def steps(work: Callable[[], object]) -> int:
    """Return how many calls and returns of functions `work` takes, also if the file is refused."""
    n, before = 0, sys.getprofile()

    def count(*event: object) -> None:
        nonlocal n
        n += 1

    sys.setprofile(count)
    try:
        work()
    except UserError:
        pass
    finally:
        sys.setprofile(before)
    return n


def texts(n: int) -> Dataset:
    segments = tuple(Segment(f"d{i // 10}", str(i), f"quelle {i}", (f"ref {i}",)) for i in range(n // 2))
    return Dataset(
        segments, tuple(Output(system, *s.key, f"text {s.segment_id} 😀") for s in segments for system in "AB")
    )


def lines(n: int, line: Callable[[int], str], header: str = "") -> str:
    return "".join(f"{text}\n" for text in (*([header] if header else []), *map(line, range(n))))


def of_labels(n: int) -> Iterator[Reading]:
    """Every label format: errors in all outputs, and all of them in one output."""
    long = Output("A", "d", "1", "text " * 7 * n)  # JSON with more than 64 objects takes a further check
    marks = tuple(Span("output", i, i + 4, "text", "Major", "Style") for i in range(0, len(long.text), 5))
    of_one = Dataset((Segment("d", "1", "quelle"),), (long,)), (RatedOutput(long.key, "r", marks),)
    of_all = texts(n), tuple(RatedOutput(o.key, r, (ERROR, ERROR)) for o in texts(n).outputs for r in ("r", "s"))
    for name in (name for name, of in FORMATS.items() if of.write):
        for said, (data, rated) in (("all", of_all), ("one", of_one)):
            text = written(name, data, rated).texts[0]
            yield f"{name}, errors of {said}", labels(name, Upload(f"x.{FORMATS[name].ending}", text.encode()), data)
    numbers = lines(n, lambda i: f"{'AB'[i * 2 // n]}\t{i}.5")
    many = Dataset((Segment("d", "1", None),), tuple(Output(f"S{i}", "d", "1", "text") for i in range(n)))
    for name, text, data in (
        ("mtme-score", numbers, texts(n)),
        ("mtme-metric", numbers, texts(n)),
        ("mtme-score", lines(n, lambda i: f"S{i}\t1"), many),
        ("mtme-score", lines(n, lambda i: f"X{i}\t1"), many),
        ("mtme", lines(n, lambda i: f"X{i}\tNone"), many),
        ("judgements", lines(n, lambda i: f"{'AB'[i % 2]},d{i // 20},{i // 2},r,{i}", f"{KEY}rater,score"), texts(n)),
    ):
        yield f"{name}: {text[:8]!r} …", labels(name, Upload("x.csv", text.encode()), data)


def labels(name: str, upload: Upload, data: Dataset) -> Callable[[], object]:
    return lambda: label_import.read_label_files([upload], {upload.name: name}, data)


def of_tables(n: int) -> Iterator[Reading]:
    document = {"source": "s", "references": ["r"], "outputs": {s: {"text": "x", "human": {"ease": 3.5}} for s in "AB"}}
    record = {"system": "A", "output": "x", "references": ["r"], "score": 1.5}
    for name, text in {
        "long.csv": lines(
            n, lambda i: f"{'AB'[i % 2]},d,{i // 2},s,r,text,{i % 5},0.5", f"{KEY}source,ref,output,ease,COMET"
        ),
        "wide.tsv": lines(n, lambda i: f"{i}\ts\tr\tx\ty", "id\tsource\tref\tsys1\tsys2"),
        "documents.jsonl": lines(n, lambda i: json.dumps({"doc_id": str(i), **document})),
        "rows.jsonl": lines(n, lambda i: json.dumps({**record, "segment_id": i})),
        "system.txt": "eins\n" * n,
        "without ids.csv": lines(n, lambda i: f"{'AB'[i * 2 // n]},x", "system,output"),
        "ratings of one output.csv": lines(n, lambda i: f"A,1,x,{i % 5}", "system,segment_id,output,score"),
        "scores.csv": lines(n, lambda i: f"{'AB'[i % 2]},d{i // 20},{i // 2},{i % 5}", f"{KEY}ease"),
        "wrong cells.csv": lines(n, lambda i: f"A,{i},x,{i}?", "system,segment_id,output,score"),
    }.items():
        yield name, table(Upload(name, text.encode()), texts(n))


def table(upload: Upload, data: Dataset) -> Callable[[], object]:
    return lambda: importing.preview(importing.read_files([upload]), None, data)


def of_campaigns(n: int) -> Iterator[Reading]:
    data, at = texts(7 * n), datetime(2024, 1, 1, tzinfo=UTC)
    ratings = [
        CampaignRating(
            f"r{i % 4}", o.key, "item", (ERROR,), 50.0, at + timedelta(seconds=i), at + timedelta(seconds=i + 1)
        )
        for i, o in enumerate(data.outputs)
    ]
    campaign = CampaignFile(data, tuple(ratings))
    (scores, batches) = sorted(
        (Upload("x", t.encode()) for t in campaign_formats.write_appraise(campaign).texts), key=_is_json
    )
    yield "appraise", lambda: appraise.read_appraise(scores, batches)
    (of_pearmut,), (of_wmt,) = campaign_formats.write_pearmut(campaign).texts, wmt25.write_wmt25(campaign).texts
    yield "pearmut", lambda: pearmut.read_pearmut(Upload("x", of_pearmut.encode()))
    yield "wmt25", lambda: wmt25.read_wmt25(Upload("x", of_wmt.encode()))
    spans = Upload("x.tsv", wmt25.write_wmt25_spans(campaign).texts[0].encode())
    yield "wmt25-spans", lambda: wmt25.read_wmt25_spans(spans)


def _is_json(upload: Upload) -> bool:
    return upload.data[:1] in (b"[", b"{")


def of_commands(n: int, folder: Path) -> Iterator[Reading]:
    """The readers that only commands use."""
    pairs = Upload("p.csv", lines(n, lambda i: f"t,r{i},g{i},p{i}", "type,reference,good,perturbed").encode())
    suite = "error,id,source,ref,r,hyp_para,hyp_adv_based,hyp_adv_free"
    scores = lines(n, lambda i: f"A,d,{i},1.5", f"{KEY}score")
    refined = lines(
        n, lambda i: json.dumps({"system": "A", "doc_id": "d", "segment_id": str(i), "dist_exp": 1, "dist_imp": 2})
    )
    ours = folder / f"scores{n}.csv"
    ours.write_text(lines(n, lambda i: f"A,d,{i},chrf,chrf|x,1.5,ok,", f"{KEY}metric,signature,score,status,reason"))
    (folder / f"external{n}.csv").write_text(scores)
    yield "pairs", lambda: read_pairs([pairs])
    yield "demetr", lambda: read_pairs([Upload("p.json", json.dumps([DEMETR] * n).encode())])
    yield "menli", lambda: read_cases([Upload("m.csv", lines(n, lambda i: "add,1,s,r,q,p,a,f", suite).encode())])
    yield "human scores", lambda: human_scores.read_human(Upload("h.csv", scores.encode()))
    yield "refined", lambda: calibrate.read_refined(Upload("r.jsonl", refined.encode()))
    yield "scores", lambda: evaluate.read_scores(ours)
    yield (
        "external scores",
        lambda: external_scores.read_metric_files([external_scores.metric_file(f"X={folder}/external{n}.csv")], None),
    )


def test_readers_take_twice_as_many_steps_for_twice_as_many_lines(tmp_path: Path) -> None:
    """Steps that a file takes whatever its size are left out: compared are those of N, then of 2 N further lines."""

    def readings(n: int) -> list[Reading]:
        return [*of_labels(n), *of_tables(n), *of_campaigns(n), *of_commands(n, tmp_path)]

    for (name, small), (_, double), (_, fourfold) in zip(*map(readings, (N, 2 * N, 4 * N)), strict=True):
        steps(small)  # modules and patterns are loaded once
        first, second, third = map(steps, (small, double, fourfold))
        assert 0 < third - second <= 2.05 * (second - first), (name, first, second, third)
