"""A real campaign: WMT23 English–German under ESA and MQM, counted again by plain Python."""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter
from functools import cache
from statistics import fmean, median
from typing import Any, NamedTuple

import pytest

from core.campaigns.imported import attention, check_results, penalty_of, ranking, times
from core.formats.campaigns import appraise, campaign_formats
from core.formats.campaigns.campaign_file import CampaignFile
from core.formats.files import Upload
from tests.core.formats.campaigns.campaign_cases import contents
from tests.paths import DATA

ESA = DATA / "esa"
pytestmark = pytest.mark.skipif(not ESA.exists(), reason=f"{ESA} is absent")

BATCHES = "appraise_batches_wmt23_ende.json.gz"
NAMES = {"esa": "appraise_esa_wmt23_ende.csv.gz", "mqm": "appraise_mqm_wmt23_ende.csv.gz"}


class Counts(NamedTuple):
    """What a file has, counted by hand."""

    rows: int
    kept: int
    kinds: dict[str, int]
    spans: int
    missing: int
    undecided: int
    judged: int
    passed: int


COUNTS = {
    "esa": Counts(3327, 3300, {"item": 2691, "check": 411, "tutorial": 198}, 3748, 476, 34, 396, 329),
    "mqm": Counts(1210, 1200, {"item": 984, "check": 144, "tutorial": 72}, 1072, 105, 1, 144, 110),
}


@cache
def campaign(name: str) -> CampaignFile:
    texts = Upload(BATCHES, (ESA / BATCHES).read_bytes())
    return appraise.read_appraise(Upload(NAMES[name], (ESA / NAMES[name]).read_bytes()), texts)


@cache
def rows(name: str) -> list[list[str]]:
    with gzip.open(ESA / NAMES[name], "rt", encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


@cache
def latest(name: str) -> list[tuple[list[str], dict[str, Any], list[dict[str, Any]]]]:
    """Return the latest row of each account and item, with its item and spans: an account worked on one batch."""
    with gzip.open(ESA / BATCHES, "rt", encoding="utf-8") as file:
        batches = [{str(i["itemID"]): i for i in batch["items"]} for batch in json.load(file)]
    newest: dict[tuple[str, str], list[str]] = {}
    for row in rows(name):
        before = newest.get((row[0], row[2]))
        if before is None or float(row[11]) > float(before[11]):
            newest[row[0], row[2]] = row
    accounts = sorted({row[0] for row in rows(name)}, key=lambda account: int(account[6:], 16))
    batch_of = dict(zip(accounts, batches, strict=False))
    found = [(row, batch_of[row[0]][row[2]], json.loads(row[9])) for row in newest.values()]
    assert all((i["documentID"], i["itemType"], i["targetID"]) == (r[7], r[3], r[1]) for r, i, _ in found)
    return found


def weights(spans: list[dict[str, Any]]) -> float:
    total = 0.0
    for s in spans:
        light = (
            s["severity"] == "minor"
            and (s.get("error_type") or [])[-1:] == ["Punctuation"]
            and s["error_type"][0] in ("Fluency", "Linguistic conventions")
        )
        total += 0.1 if light else {"minor": 1, "major": 5, "undecided": 0}[s["severity"]]
    return total


@pytest.mark.parametrize("name", COUNTS)
def test_every_row_is_counted(name: str) -> None:
    file, counts = campaign(name), COUNTS[name]
    assert (len(rows(name)), len(latest(name)), len(file.ratings)) == (counts.rows, counts.kept, counts.kept)
    assert file.replaced == counts.rows - counts.kept
    assert Counter(r.kind for r in file.ratings) == counts.kinds
    tutorials = sum("tutorial" in row[7] for row, _, _ in latest(name))
    checks = sum(row[3] == "BAD" or "#duplicate" in row[7] for row, _, _ in latest(name))
    assert (tutorials, checks) == (counts.kinds["tutorial"], counts.kinds["check"])
    assert len(file.dataset.outputs) == 2691
    assert {r.score is None for r in file.ratings} == {name == "mqm"}


@pytest.mark.parametrize("name", COUNTS)
def test_every_span_lies_in_its_text_and_the_only_fault_is_a_severity_that_was_not_chosen(name: str) -> None:
    file, counts = campaign(name), COUNTS[name]
    texts = file.texts()
    read: Counter[tuple[str, str, str, int, int, str]] = Counter()
    for r in file.ratings:
        text = texts[r.key][0] if r.kind == "item" else r.text or ""
        for e in r.errors or ():
            e.check(text)
            read[r.rater, r.kind, text, e.start, e.end, e.severity.lower()] += 1
    expected: Counter[tuple[str, str, str, int, int, str]] = Counter()
    missing = 0
    for row, item, spans in latest(name):
        marked = row[3] == "BAD" or "#duplicate" in row[7]
        kind = "tutorial" if "tutorial" in row[7] else "check" if marked else "item"
        for s in spans:
            missing += s["start_i"] == "missing"
            place = (0, 0) if s["start_i"] == "missing" else (s["start_i"], s["end_i"] + 1)
            assert place[1] <= len(item["targetText"])
            expected[row[0], kind, item["targetText"], *place, s["severity"]] += 1
    assert read == expected
    assert (read.total(), missing) == (counts.spans, counts.missing)
    assert Counter(o.why for o in file.odd) == {"no severity chosen": counts.undecided}
    assert sum(n for (*_, severity), n in expected.items() if severity == "undecided") == counts.undecided
    assert all(o.raw is None for o in file.odd)


@pytest.mark.parametrize("name", COUNTS)
def test_attention_checks_are_judged_against_the_same_annotator(name: str) -> None:
    judged: Counter[str] = Counter()
    passed: Counter[str] = Counter()
    items = {(r[0], r[7], i["_item"]): (float(r[6]), weights(s), i) for r, i, s in latest(name) if "_item" in i}
    for row, item, spans in latest(name):
        if row[3] != "BAD":
            continue
        score, penalty, of = items[row[0], row[7].split("#bad")[0], item["_item"]]
        if of["targetText"] == item["targetText"]:
            continue
        judged[row[0]] += 1
        passed[row[0]] += weights(spans) > penalty if name == "mqm" else float(row[6]) < score
    found = {a.rater: a for a in attention(campaign(name))}
    assert {rater: a.passed.n for rater, a in found.items()} == dict(judged)
    assert {rater: round((a.passed.value or 0) * a.passed.n) for rater, a in found.items()} == {
        r: passed[r] for r in judged
    }
    assert (judged.total(), passed.total()) == (COUNTS[name].judged, COUNTS[name].passed)
    unjudged = [c for c in check_results(campaign(name)) if c.passed is None]
    assert len(unjudged) == COUNTS[name].kinds["check"] - COUNTS[name].judged


@pytest.mark.parametrize("name", COUNTS)
def test_means_and_penalties_of_the_systems_are_exact(name: str) -> None:
    by_system: dict[str, list[tuple[float, float]]] = {}
    for row, item, spans in latest(name):
        if row[3] == "TGT" and "_item" in item and "#duplicate" not in row[7]:
            by_system.setdefault(row[1].removeprefix("wmt23."), []).append((float(row[6]), weights(spans)))
    found = ranking(campaign(name), draws=100)
    assert {r.system: r.outputs for r in found} == {s: len(of) for s, of in by_system.items()}
    for r in found:
        scores, penalties = zip(*by_system[r.system], strict=True)
        assert r.penalty.value == pytest.approx(fmean(penalties))
        assert r.score.value is None if name == "mqm" else r.score.value == pytest.approx(fmean(scores))
    assert found[0].system == {"esa": "GPT4-5shot", "mqm": "refA"}[name]
    assert all(penalty_of(r) is not None for r in campaign(name).ratings)


@pytest.mark.parametrize(("name", "per_item", "per_span"), [("esa", 40.837, 34.875), ("mqm", 31.378, 32.494)])
def test_seconds_are_from_one_end_to_the_next(name: str, per_item: float, per_span: float) -> None:
    seconds: list[tuple[float, int]] = []
    for account in {row[0] for row in rows(name)}:
        mine = [
            (float(r[11]), float(r[10]), "_item" in i and r[3] == "TGT" and "#duplicate" not in r[7], len(s))
            for r, i, s in latest(name)
            if r[0] == account
        ]
        ends = sorted({end for end, _, _, _ in mine})
        for end, began, is_item, n in mine:
            page = sum(other[0] == end for other in mine)
            before = [e for e in ends if e < end]
            if is_item:
                seconds.append(((end - (before[-1] if before else began)) / page, n))
    found = times(campaign(name))
    assert found.per_item == pytest.approx(median(s for s, _ in seconds), abs=1e-5) == pytest.approx(per_item, abs=1e-3)
    assert (
        found.per_span
        == pytest.approx(median(s / n for s, n in seconds if n), abs=1e-5)
        == pytest.approx(per_span, abs=1e-3)
    )
    assert found.timed == len(seconds)


@pytest.mark.parametrize("name", COUNTS)
def test_the_campaign_is_restored(name: str) -> None:
    written = campaign_formats.write_appraise(campaign(name))
    assert written.lost == ()
    again = appraise.read_appraise(
        *(Upload(n, t.encode()) for n, t in zip(("a.csv", "b.json"), written.texts, strict=True))
    )
    assert contents(again) == contents(campaign(name))
