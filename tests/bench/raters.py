"""Precision and recall of the verdicts on raters, on simulated campaigns: `python -m tests.bench.raters`.

Each campaign has 30 raters: 20 careful, 4 careless (2 answer at random, 2 always the same), 3 copycats and 3 adversarial ones.
600 units have 3 distinct raters each; 5 % attention checks and 3 % repeats come on top. A rater counts as flagged if the verdict is
not "fine". --protocol chooses one protocol, --campaigns the number of campaigns, --first the seed of the first one.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import NamedTuple

from core.campaigns.attention_checks import AttentionCheck, PlantedError, check_to_json, planted
from core.campaigns.protocol import PROTOCOLS, ProtocolName
from core.campaigns.rater_evidence import verdicts
from core.campaigns.submitted import QualityAdvice, RaterVerdict, UnitJudgement
from core.data import SegmentKey, Span
from core.ports.campaigns import CampaignUnit
from core.stats.bootstrap import wilson
from tests.bots import UNSPECIFIED, BotAnswer, BotOutput, BotRater, Habit, answer, bot_rater, labels_of

USUAL: Mapping[Habit, int] = {"careful": 20, "careless": 2, "same": 2, "copycat": 3, "adversarial": 3}
START = datetime(2026, 1, 5, tzinfo=UTC)
SYSTEMS = 8
PER_SCREEN = {None: 4}
LETTERS = "abcdefghiklmnoprstuvz"


class SimulatedUnit(NamedTuple):
    name: str
    of: SegmentKey
    shown: dict[str, BotOutput]


class RaterCampaign(NamedTuple):
    raters: dict[str, BotRater]
    units: list[UnitJudgement]


def output(rng: Random, errors: float, vocabulary: Sequence[str]) -> BotOutput:
    """Return a text of 12 to 30 words in which about `errors` stretches of one to three words are wrong."""
    tokens = [rng.choice(vocabulary) for _ in range(rng.randint(12, 30))]
    starts = [sum(len(t) + 1 for t in tokens[:i]) for i in range(len(tokens))]
    text, found = " ".join(tokens) + ".", dict[int, Span]()
    for _ in range(poisson(errors, rng)):
        i = rng.randrange(len(tokens) - 2)
        j = i + rng.randint(0, 2)
        if not any(k in found for k in range(i - 2, j + 1)):
            a, b = starts[i], starts[j] + len(tokens[j])
            found[i] = Span("output", a, b, text[a:b], "Major" if rng.random() < 0.4 else "Minor", UNSPECIFIED)
    return BotOutput(text, tuple(found.values()))


def poisson(mean: float, rng: Random) -> int:
    n, product = 0, rng.random()
    while product > math.exp(-mean):
        n, product = n + 1, product * rng.random()
    return n


def broken(whole: BotOutput, error: PlantedError) -> BotOutput:
    """Return the output with the planted error; other errors move with the text."""
    place = error.spans[0]
    grown = len(error.text) - len(whole.text)
    kept = [s for s in whole.errors if s.end <= place.start]
    after = [s for s in whole.errors if s.start >= place.end - grown and s.start >= place.start]
    moved = [Span("output", s.start + grown, s.end + grown, s.quote, s.severity, s.category) for s in after]
    return BotOutput(error.text, (*kept, *error.spans, *moved))


def campaign(
    protocol: ProtocolName, seed: int, *, habits: Mapping[Habit, int] = USUAL, units: int = 600, overlap: int = 3,
    checks: float = 0.05, repeats: float = 0.03,
) -> RaterCampaign:  # fmt: skip
    """Return a simulated campaign with all answers."""
    rng = Random(seed)
    asks = PROTOCOLS[protocol].asks
    on_screen = PROTOCOLS[protocol].on_screen or PER_SCREEN[None]
    vocabulary = ["".join(rng.choices(LETTERS, k=rng.randint(2, 9))) for _ in range(800)]
    quality = {f"S{i}": 0.4 + 2.0 * i / SYSTEMS for i in range(SYSTEMS)}
    planned = []
    for n in range(units):
        systems = rng.sample(sorted(quality), on_screen)
        shown = {s: output(rng, quality[s] * rng.uniform(0.3, 1.7), vocabulary) for s in systems}
        planned.append(SimulatedUnit(f"u{n}", SegmentKey("d", str(n)), shown))
    kinds = [habit for habit, count in habits.items() for _ in range(count)]
    raters = {f"r{i:02}": bot_rater(habit, rng) for i, habit in enumerate(kinds)}
    texts = [o.text for unit in planned for o in unit.shown.values()]

    def submitted(
        rater: str, unit: SimulatedUnit, given: BotAnswer, time: float, kind: str, details: dict[str, object]
    ) -> UnitJudgement:
        read = 20 + sum(len(o.text.split()) for o in unit.shown.values())
        seconds = read / (raters[rater].speed * math.exp(rng.gauss(0, 0.4)))
        of = CampaignUnit(0, unit.name, 0, 0, kind, unit.of, tuple(unit.shown), details)  # type: ignore[arg-type]
        when = START + timedelta(minutes=time)
        return UnitJudgement(rater, of, labels_of(given, asks, seconds), when, when, 1, when, words=read)

    done: list[UnitJudgement] = []
    before: dict[str, list[BotAnswer]] = {}
    own: dict[str, list[SimulatedUnit]] = {r: [] for r in raters}
    for time, (unit, rater) in enumerate(_assigned(planned, list(raters), overlap, rng)):
        given = answer(raters[rater], unit.shown, rng, before.get(unit.name, ()))
        before.setdefault(unit.name, []).append(given)
        own[rater].append(unit)
        done.append(submitted(rater, unit, given, time, "item", {}))
    last = len(done)
    for rater, seen in own.items():
        for n, unit in enumerate(rng.sample(seen, round(checks * len(seen)))):
            made = _check(unit, on_screen, rng, rng.sample(texts, 20))
            if made is not None:
                shown, details = made
                name = SimulatedUnit(f"{rater}-c{n}", unit.of, shown)
                done.append(submitted(rater, name, answer(raters[rater], shown, rng), last, "check", details))
        for n, unit in enumerate(rng.sample(seen, round(repeats * len(seen)))):
            again = unit._replace(name=f"{rater}-r{n}")
            given = answer(raters[rater], unit.shown, rng)
            done.append(submitted(rater, again, given, last, "repeat", {"unit": unit.name}))
    return RaterCampaign(raters, done)


def _assigned(
    planned: Sequence[SimulatedUnit], raters: list[str], overlap: int, rng: Random
) -> list[tuple[SimulatedUnit, str]]:
    """Return who rates which unit, in the order of time: `overlap` distinct raters per unit, equally many units per rater."""
    load: Counter[str] = Counter()
    pairs = []
    for unit in rng.sample(list(planned), len(planned)):
        chosen = sorted(raters, key=lambda r: (load[r], rng.random()))[:overlap]
        load.update(chosen)
        pairs += [(unit, r) for r in chosen]
    rng.shuffle(pairs)
    return pairs


def _check(
    unit: SimulatedUnit, on_screen: int, rng: Random, others: Sequence[str]
) -> tuple[dict[str, BotOutput], dict[str, object]] | None:
    system = rng.choice(list(unit.shown))
    error = planted(unit.shown[system].text, None, rng, others)
    if error is None:
        return None
    shown, clean = dict(unit.shown), ""
    shown[system] = broken(unit.shown[system], error)
    if on_screen == 2:
        clean = next(s for s in shown if s != system)
        shown[clean] = unit.shown[system]
        shown = {s: shown[s] for s in rng.sample(list(shown), 2)}
    return shown, check_to_json(AttentionCheck(error, system, clean, "" if clean else unit.name))


def flags(found: Sequence[RaterVerdict], raters: Mapping[str, BotRater]) -> Counter[tuple[Habit, QualityAdvice]]:
    return Counter((raters[v.rater].habit, v.verdict) for v in found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--protocol", choices=list(PROTOCOLS), action="append")
    parser.add_argument("--campaigns", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="seed of the first campaign")
    parser.add_argument("--units", type=int, default=600)
    parser.add_argument("--why", action="store_true", help="list careful raters who are flagged and others who are not")
    options = parser.parse_args()
    for protocol in options.protocol or list(PROTOCOLS):
        total: Counter[tuple[Habit, QualityAdvice]] = Counter()
        signals: Counter[tuple[Habit, str]] = Counter()
        for seed in range(options.first, options.first + options.campaigns):
            made = campaign(protocol, seed, units=options.units)
            found = verdicts(made.units)
            total += flags(found, made.raters)
            for v in found:
                habit = made.raters[v.rater].habit
                signals.update((habit, f"{e.kind} {e.signal}") for e in v.signals)
                if options.why and (habit == "careful") == (v.verdict != "fine"):
                    print(seed, v.rater, habit, v.verdict, *(f"\n    {e.signal}: {e.text}" for e in v.evidence))
        report(protocol, total, signals)


def report(protocol: str, total: Counter[tuple[Habit, QualityAdvice]], signals: Counter[tuple[Habit, str]]) -> None:
    right = sum(n for (h, v), n in total.items() if v != "fine" and h != "careful")
    flagged = sum(n for (_, v), n in total.items() if v != "fine")
    bad = sum(n for (h, _), n in total.items() if h != "careful")
    precision, recall = wilson(right, flagged), wilson(right, bad)
    print(f"{protocol}: precision {shown(precision)}, recall {shown(recall)}")
    for habit in USUAL:
        n = sum(total[habit, v] for v in ("fine", "look", "exclude?"))
        row = ", ".join(f"{v} {total[habit, v]}" for v in ("fine", "look", "exclude?"))  # type: ignore[index]
        why = ", ".join(f"{what} {m}" for (h, what), m in signals.most_common() if h == habit)
        share = wilson(n - total[habit, "fine"], n)
        print(f"  {habit:12} flagged {shown(share)} of {n}: {row}  [{why}]")


def shown(share: object) -> str:
    value, low, high = share.value, share.low, share.high  # type: ignore[attr-defined]
    return "–" if value is None else f"{value:.3f} ({low:.3f}–{high:.3f})"


if __name__ == "__main__":
    main()
