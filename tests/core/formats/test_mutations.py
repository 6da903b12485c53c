"""Mutated files: whatever is done to a file, reading it gives an import or a `UserError`, never another exception."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from cli import calibrate, evaluate, human_scores, labels, metrics, reproduce
from cli.stress import own_injection
from core.data import Dataset, Output, Segment
from core.errors import UserError
from core.formats.error_cases import read_cases, read_pairs
from core.formats.files import Upload
from core.refine.prompts import load_lists
from core.robustness.stress.report import from_json
from core.robustness.stress.score_log import opened
from core.services.projects import importing, label_import
from tests.core.formats.test_limits import ESA, GOOGLE

TEXTS = Dataset(
    tuple(Segment("d", str(i), "quelle") for i in (1, 2)), tuple(Output("A", "d", str(i), "text 😀") for i in (1, 2))
)
STUDIO = {
    "id": 1,
    "data": {"output": "text", "source": "s", "system": "A", "segment_id": "1", "references": ["r"]},
    "annotations": [{"completed_by": 1, "result": [
        {"id": "a", "from_name": "severity", "to_name": "output", "type": "labels",
         "value": {"start": 0, "end": 2, "text": "te", "labels": ["Major"]}},
        {"id": "r", "from_name": "rater", "to_name": "output", "type": "textarea", "value": {"text": ["ann"]}},
    ]}],
}  # fmt: skip
PEARMUT = {
    "user_id": "u", "item_i": 3, "item": [{"item_id": "1", "src": "s", "ref": "r", "tgt": {"A": "text"}}],
    "annotation": [{"A": {"score": 5, "error_spans": [{"start_i": 0, "end_i": 1, "severity": "minor", "category": "X/Y"}]}}],
}  # fmt: skip
DOCUMENT = {"doc_id": "1", "source": "s", "references": ["r"],
            "outputs": {s: {"text": "x", "human": dict.fromkeys(
                ["coherence", "consistency", "fluency", "relevance"], 3.5)} for s in "AB"}}  # fmt: skip
MARK = '[{"start_i": 0, "end_i": 2, "severity": "minor", "error_type": ["Accuracy", "Omission"]}]'
MAROT = ("A\td\t1\t1\tr\ts\t<v>t</v>\tOther\tMajor\t" + json.dumps(
    {"note": "n", "segment": {"reference_tokens": {"r": ["a"]}, "target_tokens": ["t"]}, "target_spans": [[0, 0]]}))  # fmt: skip
FILES: dict[str, str] = {
    "a.csv": 'system,doc_id,segment_id,source,reference,output,adequacy,COMET\nA,d,1,s,r,"x, ""y""",3,0.5\nA,d,2,s,r,z,4,\n',
    "a.tsv": "id\tsource\tref\tsys1\tsys2\n1\ts\tr\tx\ty\n2\ts\tr\tx\ty\n",
    "a.jsonl": json.dumps(DOCUMENT) + "\n" + json.dumps(DOCUMENT | {"doc_id": "2"}) + "\n",
    "b.jsonl": '{"system": "A", "segment_id": 1, "output": "x", "references": ["r", "q"], "score": 1.5e0}\n' * 1,
    "sys.txt": "eins\nzwei\n",
    "g.tsv": GOOGLE + "A\td\t1\t1\tr\ts\t<v>t</v>\tOther\tMajor\tnote\nA\td\t1\t2\tr\ts\tt\tNo-error\tNo-error\t\n",
    "m.marot.tsv": MAROT + "\n",
    "a.mqm.r1.seg.rating": 'A\t{"errors": [{"start": 0, "end": 2, "severity": "Major", "category": "X"}]}\tr\nA\tNone\n',
    "en-de.mqm.seg.score": "A\t-1.5\nA\tNone\n",
    "COMET-refA.seg.score": "A\t-1.5\nA\t3e2\n",
    "s.jsonl": json.dumps({"system_id": "A", "hypothesis": "x", "source": "s", "document_id": "d", "segment_id": 0, "errors": [
        {"start": 0, "end": 1, "severity": "minor", "category": "X", "score": 1.0}], "rater_id": "r"}) + "\n",
    "e.jsonl": ESA % (1, MARK), "p.jsonl": json.dumps(PEARMUT) + "\n", "studio.json": json.dumps([STUDIO], indent=1),
    "j.csv": "system,doc_id,segment_id,rater,score,rank\nA,d,1,r,3,1\nA,d,2,r,4,2\n",
    "pairs.json": json.dumps([{"pert_name": "t", "eng_sent": "r", "mt_sent": "g", "pert_sent": "p", "pert_check": True}]),
    "menli.csv": "error,id,source,ref,r,hyp_para,hyp_adv_based,hyp_adv_free\nadd,1,s,r,q,p,a,f\n",
    "refined.jsonl": '{"system": "A", "doc_id": "d", "segment_id": "1", "dist_exp": 1.5, "dist_imp": 2, "score_hyp": null}\n',
    "scores.csv": "system,doc_id,segment_id,metric,signature,score,status,reason\nA,d,1,chrf,chrf|x,1.5,ok,\n",
    "prompts.json": '{"mt": ["Such as", "That is"]}',
    "log.jsonl": '{"format": "errorscope stress scores", "version": 1}\n'
    '{"metric": "chrf", "signature": "chrf|x", "seconds": 1.0, "values": {"k": [1.5, "ok", "", {}]}}\n',
    "report.json": '{"format": "errorscope stress report", "version": 1, "report": {"cells": [[1, 2.5]]}}',
}  # fmt: skip
PIECES = [
    b"", b"\n", b"\r", b"\r\n", b"\t", b",", b'"', b"'", b"\\", b"{", b"}", b"[", b"]", b"\0", b"\xff", b"\xef\xbb\xbf", b"\xed\xa0\xbd",
    b"\\ud83d", b"\\u0000", b"null", b"true", b"NaN", b"Infinity", b"-1", b"1e400", b"9" * 400, b"9" * 5000, b"1_0", b"0x1",
    "１２".encode(), "\u2028".encode(), "\u00a0=x".encode(), b"<v>", b"</v>", b"[" * 300, b'{"a":' * 2000, b"[]", b"{}", b'""',
    b"A" * 3000, b",," * 600, b"None", b"missing", b"\x1f\x8b", b"PK\x03\x04",
]  # fmt: skip


def mutated(data: bytes, rng: random.Random) -> bytes:
    """The file with one to four places replaced, doubled, cut or swapped."""
    for _ in range(rng.randint(1, 4)):
        a, b = sorted(rng.randint(0, len(data)) for _ in range(2))
        b = min(b, a + rng.choice([0, 0, 1, 4, 20, 200]))
        match rng.randrange(5):
            case 0:
                data = data[:a] + rng.choice(PIECES) + data[a:]
            case 1:
                data = data[:a] + rng.choice(PIECES) + data[b:]
            case 2:
                data = data[:a] + data[b:]
            case 3:
                data = data[:b] + data[a:b] * rng.randint(1, 3) + data[b:]
            case 4:
                data = data[:a] + bytes(rng.randrange(256) for _ in range(b - a)) + data[b:]
    return data if rng.random() < 0.8 else gzip.compress(data)[: rng.choice([None, None, -3, 20])]


def imported(upload: Upload, path: Path) -> None:
    importing.preview(importing.read_files([upload]), None, TEXTS)
    label_import.read_label_files([upload], texts=TEXTS)


def by_name(upload: Upload, path: Path) -> None:
    """The readers of the command line, each over every file."""
    path.write_bytes(upload.data)
    out = path.with_suffix(".out")
    readers: list[Callable[[], object]] = [
        lambda: calibrate.read_refined(upload), lambda: human_scores.read_human(upload), lambda: evaluate.read_scores(path),
        lambda: metrics.ranges_command([path], out), lambda: reproduce.summeval(path), lambda: read_pairs([upload]),
        lambda: read_cases([upload]), lambda: labels.mqm_command(path, out), lambda: own_injection(path),
        lambda: load_lists(path), lambda: from_json(upload.data.decode("utf-8", "surrogateescape")),
        lambda: opened(path).__enter__(),
    ]  # fmt: skip
    for read in readers:
        try:
            read()
        except UserError:
            continue


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("read", [imported, by_name], ids=lambda f: f.__name__)
@pytest.mark.parametrize("n", [10, pytest.param(150, marks=pytest.mark.extended)])
def test_a_mutated_file_is_imported_or_refused(
    n: int, read: Callable[[Upload, Path], None], name: str, tmp_path: Path
) -> None:
    rng = random.Random(name)
    read(Upload(name, FILES[name].encode()), tmp_path / name)
    for _ in range(n):
        upload = Upload(name, mutated(FILES[name].encode(), rng))
        try:
            read(upload, tmp_path / name)
        except UserError:
            continue
        except Exception as error:
            raise AssertionError(f"{type(error).__name__} {error} from {upload.data[:2000]!r}") from error
