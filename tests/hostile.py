"""A project whose every name is mark-up: what a page shows of it has to be the names themselves, and nothing is fetched."""

from __future__ import annotations

import re

from core.data import (
    Dataset,
    ExternalScores,
    HumanScore,
    Judgement,
    Output,
    RatedOutput,
    Segment,
    SegmentKey,
    SourceFile,
    Span,
    Value,
)  # fmt: skip
from core.metrics import registry
from core.mqm.actions import label_actions
from core.ports.calibration import Chosen, SavedBatch, SavedLambda
from core.ports.robustness import KeptCase, SavedScore
from core.ports.store import Store
from core.refine.result import weighted
from core.signature import content_key

HOST = "example.invalid"
IMAGE = f"![x](http://{HOST}/seen.png)"
PAYLOADS = (
    IMAGE,
    f"[a](http://{HOST}/link)",
    f"<img src=http://{HOST}/tag.png>",
    ":material/home: :material_home: :streamlit: :smile:",
    "$x^2$ and :red[warm]",
    f"https://{HOST}/x or www.{HOST} or me@{HOST}",
    "a -- b -> c <- d <-> e",
    "a >= b <= c ~= d",
    "1. first",
    "# head",
    "**bold** _it_ ~~gone~~ `code` \\*",
    "| a | b |",
)
RAW = re.compile(
    rf"!\[x\]\(|\]\(http|<img src=http|://{re.escape(HOST)}|www\.{re.escape(HOST)}|me@{re.escape(HOST)}|:material/home:|:material_home:|:streamlit:"
    r"|:smile:|\$x\^2\$|:red\[warm\]|a -- b|b -> c|a >= b|b <= c|\*\*bold\*\*|_it_|~~gone~~|`code`|(?:^|\n)\s*(?:1\. first|# head|\| a \| b)"
)
"""What would not be shown as it stands, were it read as Markdown or HTML."""

SYSTEMS = tuple(f"{p} S{i}" for i, p in enumerate((IMAGE, *PAYLOADS[5:8])))
DOCS = (f"{PAYLOADS[1]} D0", f"{PAYLOADS[3]} D1")
N = 8
RATERS = (f"{IMAGE} R0", f"{PAYLOADS[2]} R1")


def name(k: int, suffix: str) -> str:
    return f"{PAYLOADS[k % len(PAYLOADS)]} {suffix}"


def segments() -> tuple[Segment, ...]:
    return tuple(
        Segment(
            DOCS[i % 2], name(i, f"G{i}"), f"{name(i, 'source')} Das alte Haus {i}.",
            (f"{name(i, 'reference')} The old house {i} was sold on Monday.",),
        )
        for i in range(N)
    )  # fmt: skip


def outputs(where: tuple[Segment, ...]) -> tuple[Output, ...]:
    return tuple(
        Output(system, s.doc_id, s.segment_id, f"{name(i + j, 'output')} The old house {i} was bought by {j} people.")
        for i, s in enumerate(where)
        for j, system in enumerate(SYSTEMS)
    )


def fill(store: Store) -> int:
    """Store the project with everything that has a name of its own: scores, labels, numbers, batches, λs, cases."""
    project = store.projects.create(f"{IMAGE} project").id
    where = segments()
    written = outputs(where)
    human = tuple(
        HumanScore(o.system, o.doc_id, o.segment_id, name(0, "human"), float(7 * n % 23)) for n, o in enumerate(written)
    )
    judged = [
        Judgement(o.key, rater, name(1, "score"), float((11 * n + 5 * r) % 31))
        for n, o in enumerate(written)
        for r, rater in enumerate(RATERS)
    ]
    external = [
        ExternalScores(
            name(k, "metric").replace("|", "/"), k % 2 == 0, (SourceFile(name(2, "file.csv"), "0" * 64, name(5, "column")),),
            {o.key: Value(float((3 * n + k) % 19)) if n % 5 else Value(None, "undefined", name(0, "why")) for n, o in enumerate(written)},
        )
        for k in (0, 5)
    ]  # fmt: skip
    store.projects.add(project, Dataset(where, written, human), judgements=judged, external=external)
    reference = {s.key: s for s in where}
    for metric in ("chrf", "ter", "bartscore++"):
        values = {}
        for n, o in enumerate(written):
            s, d = reference[SegmentKey(o.doc_id, o.segment_id)], (0.1 * (n % 7), 0.03 * (11 * n % 17))
            parts = {"dist_exp": d[0], "dist_imp": d[1], "score_hyp": -d[0] - d[1] - 0.2}
            values[content_key(s.source, o.text, s.references)] = (
                Value(weighted(*d, 1.0), parts=parts) if metric == "bartscore++" else Value(float(13 * n % 29))
            )
        store.scores.put(metric, registry.load_metric(metric).signature(), values, 1.0)
    rated = [
        RatedOutput(
            o.key, rater,
            (Span("output", 0, 3 + r, o.text[: 3 + r], "Major", "Accuracy/Addition", name(n, "note")),) if (n + r) % 3 else (),
        )
        for r, rater in enumerate(RATERS)
        for n, o in enumerate(written)
    ]  # fmt: skip
    for (rater, segment), actions in label_actions(rated).actions.items():
        store.labels.append(project, rater, segment, actions)
    store.batches.save(
        project,
        SavedBatch(name(0, "batch"), "random", 1, "s", tuple(Chosen(o.key, 0.5) for o in written[:6]), len(written)),
    )
    refinement = registry.load_metric("bartscore++").signature()
    store.calibrations.save(project, SavedLambda(name(0, "lambda"), 1.3, name(5, "signature"), refinement))
    case = KeptCase(
        name(0, "collection"), "negation", where[0].source, where[0].references[0], written[0].text, written[1].text,
        name(3, "what"), (SavedScore("chrf", name(5, "signature"), True, 1.0, 2.0), SavedScore(external[0].name, "s", True, None, None, name(0, "why"))),
    )  # fmt: skip
    store.cases.keep(project, case)
    return project
