"""Gold texts and what a test makes of them: who is compared, who is not and why, how much was changed, and in which process."""

from dataclasses import replace
from random import Random

import psutil
import pytest

from core.data import Dataset, Item, Output, Segment
from core.errors import UserError
from core.models import loading
from core.perturbations import registry
from core.perturbations.base import Edits, Noise, NoiseContext, NoiseLevel
from core.progress import no_progress
from core.robustness.stress import texts
from core.robustness.stress.texts import FEW, Gold, Make, Noised, expanded, make_locally, makers, work
from core.text.edits import Edit, Refused
from tests.core.robustness.stress.fake_noise import CUT, DROP, golds, noise, of_words

DATA = Dataset(
    (
        Segment("a", "1", "s1", ("gold 1", "other 1", "third 1")),
        Segment("a", "2", None, ("gold 2",)),
        Segment("b", "1", "s3", ()),
        Segment("b", "3", "s4", ("  ", "other 4")),
    ),
    (Output("X", "a", "1", "x1"), Output("X", "b", "1", "x3"), Output("X", "b", "3", " "), Output("Y", "a", "2", "y2")),
)


def noised(noise: Noise, gold: list[Gold], seed: int = 0, seeds: int = 1, make: Make | None = None) -> Noised:
    return texts.noised(noise, gold, seed, seeds, no_progress, make)


def test_gold_texts_are_first_references_or_outputs_of_a_system() -> None:
    first, second = texts.gold_of(DATA, "reference")
    assert first == ("1", Item("s1", "gold 1", ("other 1", "third 1")))
    assert second == ("2", Item(None, "gold 2", ()))
    # a segment id that documents share gets the document's name; the blank output is left out
    assert texts.gold_of(DATA, "X") == [
        ("a:1", Item("s1", "x1", ("gold 1", "other 1", "third 1"))),
        ("b:1", Item("s3", "x3", ())),
    ]
    with pytest.raises(UserError, match="Did you mean reference"):
        texts.gold_of(DATA, "refrence")
    with pytest.raises(UserError, match="no segment has a reference"):
        texts.gold_of(Dataset(DATA.segments[2:3], DATA.outputs), "reference")


def test_blank_and_missing_texts_are_counted() -> None:
    # references: none in b:1, a blank first one in b:3. X wrote nothing for a:2 and a blank for b:3; Y wrote for a:2 alone
    assert [texts.left_out(DATA, which) for which in ("reference", "X", "Y")] == [2, 2, 3]


def test_compared_are_the_texts_that_the_strongest_level_touches() -> None:
    # half of 1 word is none: refused. A quarter of 2 words is none, half of them is one: its gold text stands at 25 %
    made = noised(CUT, of_words(8, 2, 1), 0, 5)
    assert made.compared == (0, 1)
    assert (made.facts.touched, made.facts.untouched, made.facts.reasons) == (2, 1, (("too few words", 1),))
    assert made.texts[0] == (("w0x0 w0x1 w0x2 w0x3 w0x4 w0x5", "w1x0 w1x1"),)
    assert made.texts[1] == (("w0x0 w0x1 w0x2 w0x3", "w1x0"),)


def test_the_noise_ratio_is_the_mean_over_compared_texts() -> None:
    # at 25 %: 2 of 8 words away, and 0 of 2; at 50 %: 4 of 8, and 1 of 2; halved where parts are exchanged
    assert noised(CUT, of_words(8, 2, 1)).ratios == (0.125, 0.5)
    assert noised(replace(CUT, switching=True), of_words(8, 2)).ratios == (0.0625, 0.25)


def test_ungraded_levels_compare_texts_changed_at_all_levels() -> None:
    made = noised(replace(CUT, graded=False), of_words(8, 2, 1))
    assert made.compared == (0,)
    assert made.facts.reasons == (("too few words", 2),)


def test_seeds_count_up_and_seedless_noises_run_once() -> None:
    seeded = noised(DROP, of_words(8), 3, 2)
    assert seeded.seeds == (3, 4)
    assert seeded.texts[0][0] != seeded.texts[0][1]
    assert seeded.texts[0][1][0] == noised(DROP, of_words(8), 4).texts[0][0][0]
    assert noised(CUT, of_words(8), 3, 2).seeds == (3,)
    assert (work(DROP, of_words(8, 2), 5), work(CUT, of_words(8, 2), 5)) == (2 * 2 * 5, 2 * 2)


def test_under_a_seed_that_refuses_the_gold_text_stands() -> None:
    def sometimes(text: str, strength: float, random: Random, context: NoiseContext) -> Edits:
        return [Edit(len(text), len(text), "!")] if random.random() < 0.5 else Refused("unlucky")

    made = noised(noise("sometimes", sometimes, seeded=True), of_words(*[4] * 8), 0, 4)
    own = {f"w{i}x0 w{i}x1 w{i}x2 w{i}x3" for i in range(8)}
    strongest = {text for seeds in made.texts[1] for text in seeds}
    assert strongest & own
    assert strongest - own
    assert len(made.compared) >= 7  # all four seeds refuse one in sixteen


def test_a_noise_sees_the_source_and_the_other_texts() -> None:
    def with_context(text: str, strength: float, random: Random, context: NoiseContext) -> Edits:
        return [Edit(0, len(text), f"{context.source} {len(context.texts)}")]

    beside = noise("beside", with_context, needs=frozenset({"source", "others"}))
    assert noised(beside, golds(["a", "b"])).texts[1] == (("source 0 2", "source 1 2"),)


def test_a_signature_names_what_the_texts_depend_on() -> None:
    def signed(words: int = 4, seed: int = 0, seeds: int = 2, **facts: object) -> str:
        return noised(replace(DROP, **facts), of_words(words), seed, seeds).facts.signature  # type: ignore[arg-type]

    assert signed().startswith("drop|v:1|levels:25%+50%|seeds:0-1|gold:1-")
    assert "|models:m 1|" in signed(model=lambda: "m 1")
    others = signed(seed=1), signed(seeds=3), signed(version=2), signed(levels=(NoiseLevel(0.5, "50%"),)), signed(5)
    assert len({signed(), *others}) == 6
    assert noised(CUT, of_words(4), 0, 2).facts.signature.startswith("cut|v:1|levels:25%+50%|seeds:none|")


def test_the_texts_of_a_gold_text_follow_it() -> None:
    gold = of_words(8, 4)
    items = [item.hypothesis for item in noised(CUT, gold).items(gold)]
    assert items[:3] == [gold[0].item.hypothesis, "w0x0 w0x1 w0x2 w0x3 w0x4 w0x5", "w0x0 w0x1 w0x2 w0x3"]
    assert items[3:] == [gold[1].item.hypothesis, "w1x0 w1x1 w1x2", "w1x0 w1x1"]


def test_tests_are_named_one_by_one_or_as_groups() -> None:
    assert expanded(["all"]) == tuple(registry.NOISES)
    assert expanded(["truncation", "fluency", "truncation"])[0] == "truncation"
    groups = [expanded([g]) for g in ("fluency", "consistency", "special")]
    assert sorted(name for group in groups for name in group) == sorted(registry.NOISES)
    assert {*groups[0], *groups[1]} == set(registry.NOISE_TYPES)
    with pytest.raises(UserError, match="Did you mean truncation"):
        expanded(["truncatoin"])


GOLDS = [
    Gold(str(i), Item("Quelle", f"The {n} men went to Berlin. They had not seen the old house.", ()))
    for i, n in enumerate(["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"])
]


@pytest.fixture(scope="module")
def two() -> Make:  # type: ignore[misc]
    assert len(GOLDS) >= FEW
    with makers(GOLDS, 2) as make:
        yield make


@pytest.mark.parametrize("name", ["token-drop", "sentence-replacement", "frequent-3gram", "copy-source"])
def test_two_processes_make_what_one_makes(two: Make, name: str) -> None:
    noise = registry.noise(name)
    assert noised(noise, GOLDS, 3, 2) == noised(noise, GOLDS, 3, 2, two)
    assert list(two(noise, [3])) == list(make_locally(GOLDS)(noise, [3]))


def test_a_noise_that_is_not_in_the_registry_is_made_locally() -> None:
    gold = of_words(*[8] * FEW)
    with makers(gold, 2) as make:
        assert list(make(CUT, [0])) == list(make_locally(gold)(CUT, [0]))


@pytest.mark.parametrize(("gpu", "processes"), [pytest.param(False, 2, marks=pytest.mark.extended), (True, 0)])
def test_a_noise_with_a_model_loads_it_in_few_processes_or_locally(
    monkeypatch: pytest.MonkeyPatch, gpu: bool, processes: int
) -> None:
    drop = registry.noise("token-drop")
    loads = replace(drop, model=lambda: "m 1")
    monkeypatch.setattr(loading, "device", lambda: "cuda" if gpu else "cpu")
    monkeypatch.setitem(registry.NOISES, drop.name, loads)
    before = len(psutil.Process().children())
    with makers(GOLDS, 3) as make:
        assert list(make(loads, [0])) == list(make_locally(GOLDS)(drop, [0]))
        assert len(psutil.Process().children()) - before <= processes
        assert (len(psutil.Process().children()) > before) == (not gpu)
