"""Estimated and actual time of scoring jobs: a string, an encoder, an NLI and a seq2seq metric, each on translations and on summaries.

As in the app, the time is estimated from a timed sample before the job, then everything is scored. Both happen in one process on a
machine that may be busy with other things, so the load is printed too. With --cpu, processor time stands for time in both, which other
programs hardly change.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import time
from types import SimpleNamespace

import numpy as np

from core.data import Dataset, Output, Segment
from core.metrics import registry
from core.scoring import dataset as scoring
from core.scoring.cache import InMemoryScores
from core.scoring.dataset import for_dataset, score_dataset
from core.services.projects import sample
from core.services.projects.time_estimates import distinct_outputs, open_outputs, total_seconds
from core.settings import share_cores
from tests.paths import DATA
from tests.stores import new_store

CLOCK = [time.perf_counter]
METRICS = ("chrf", "ter", "bertscore", "sms", "nli", "bartscore", "bartscore++")
SUMMARIES = DATA / "summeval.jsonl.gz"


def summaries(documents: int, systems: int) -> Dataset:
    """Return SummEval's summaries, with one reference each."""
    with gzip.open(SUMMARIES, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines][:documents]
    outputs = [(name, r["doc_id"], o["text"]) for r in rows for name, o in list(r["outputs"].items())[:systems]]
    return Dataset(
        tuple(Segment(r["doc_id"], "1", r["source"], tuple(r["references"][:1])) for r in rows),
        tuple(Output(name, doc, "1", text) for name, doc, text in outputs),
    )


def larger(data: Dataset, times: int) -> Dataset:
    """Return the dataset several times, with a number added to each output, so that no text is scored twice."""
    segments = [
        Segment(s.doc_id, f"{s.segment_id}-{i}", s.source, s.references) for i in range(times) for s in data.segments
    ]
    outputs = [
        Output(o.system, o.doc_id, f"{o.segment_id}-{i}", f"{o.text} {i}") for i in range(times) for o in data.outputs
    ]
    return Dataset(tuple(segments), tuple(outputs))


def compare(name: str, what: str, data: Dataset) -> float:
    """Estimate, score, print both, and return estimate / actual."""
    store, metric = new_store(), registry.load_metric(name)
    began = CLOCK[0]()
    score_dataset(data, [metric], InMemoryScores(), timings=store.timings, only_time=True)
    sampled = CLOCK[0]() - began
    estimate = total_seconds(open_outputs(store, distinct_outputs(data), [for_dataset(metric, data)]))
    began = CLOCK[0]()
    score_dataset(data, [metric], InMemoryScores(), timings=store.timings)
    actual = CLOCK[0]() - began
    if estimate is None:
        raise RuntimeError(f"{name}: the sample gave no time")
    print(
        f"{name:12} {what:12} {len(data.outputs):6,} outputs   sample {sampled:6.1f} s   estimate {estimate:7.1f} s   actual {actual:7.1f} s"
        f"   ratio {estimate / actual:.2f}   (load {os.getloadavg()[0]:.1f})",
        flush=True,
    )
    return estimate / actual


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--metrics", default=",".join(METRICS))
    parser.add_argument("--cpu", action="store_true", help="measure processor time")
    parser.add_argument("--seconds", type=float, default=60.0, help="about how long the longest job may take")
    parser.add_argument("--times", type=int, default=10, help="how many times the translations are repeated")
    args, _ = parser.parse_known_args()
    share_cores()
    if args.cpu:
        CLOCK[0] = time.process_time
        scoring.time = SimpleNamespace(monotonic=time.process_time, sleep=time.sleep)  # type: ignore[assignment]
    ratios = []
    translations = larger(sample.dataset(), args.times)
    sets = (
        {"translations": translations, "summaries": summaries(100, 16)}
        if SUMMARIES.exists()
        else {"translations": translations}
    )
    for name in args.metrics.split(","):
        for what, data in sets.items():
            ratios.append(compare(name, what, _limited(name, data, args.seconds)))
    within = np.mean([0.7 <= ratio <= 1.3 for ratio in ratios])
    print(f"{len(ratios)} jobs, {within:.0%} within ±30 %: ratios {min(ratios):.2f} … {max(ratios):.2f}")


def _limited(name: str, data: Dataset, seconds: float) -> Dataset:
    """Return a random part of the outputs that takes about `seconds`, at least 40 outputs."""
    store, metric = new_store(), registry.load_metric(name)
    score_dataset(data, [metric], InMemoryScores(), timings=store.timings, only_time=True)
    whole = total_seconds(open_outputs(store, distinct_outputs(data), [for_dataset(metric, data)])) or 0.0
    n = max(40, int(len(data.outputs) * min(1.0, seconds / max(whole, 0.1))))
    keep = sorted(np.random.default_rng(0).permutation(len(data.outputs))[:n])
    return Dataset(data.segments, tuple(data.outputs[i] for i in keep))


if __name__ == "__main__":
    main()
