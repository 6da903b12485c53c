"""What a test makes of the gold texts: who is compared, who is not and why, and how much was changed."""

from dataclasses import replace
from random import Random

import pytest

from core.errors import UserError
from core.perturbations.noise.base import NoiseContext, NoiseLevel
from core.perturbations.registry import NOISE_TYPES, NOISES, noises
from core.progress import no_progress
from core.robustness.stress.noised import expanded, noised, work
from core.text.edits import Change, Edit, Outcome, Refused, changed
from tests.core.robustness.stress.fake_noise import CUT, DROP, HALVES, golds, noise, of_words


def test_compared_are_the_texts_that_the_strongest_level_touches() -> None:
    # half of 1 word is none: refused. A quarter of 2 words is none, half of them is one: its gold text stands at 25 %
    found = noised(CUT, of_words(8, 2, 1), 0, 5, no_progress)
    assert found.compared == (0, 1)
    assert (found.facts.touched, found.facts.untouched, found.facts.reasons) == (2, 1, (("too few words", 1),))
    assert found.texts[0] == (("w0x0 w0x1 w0x2 w0x3 w0x4 w0x5", "w1x0 w1x1"),)
    assert found.texts[1] == (("w0x0 w0x1 w0x2 w0x3", "w1x0"),)


def test_the_noise_ratio_is_the_mean_over_compared_texts() -> None:
    # at 25 %: 2 of 8 words away, and 0 of 2; at 50 %: 4 of 8, and 1 of 2
    assert noised(CUT, of_words(8, 2, 1), 0, 1, no_progress).ratios == (0.125, 0.5)


def test_it_is_halved_where_parts_are_exchanged() -> None:
    assert noised(replace(CUT, switching=True), of_words(8, 2), 0, 1, no_progress).ratios == (0.0625, 0.25)


def test_ungraded_levels_compare_texts_changed_at_all_levels() -> None:
    found = noised(replace(CUT, graded=False), of_words(8, 2, 1), 0, 1, no_progress)
    assert found.compared == (0,)
    assert found.facts.reasons == (("too few words", 2),)


def test_seeds_count_up_and_seedless_noises_run_once() -> None:
    seeded = noised(DROP, of_words(8), 3, 2, no_progress)
    assert seeded.seeds == (3, 4)
    assert seeded.texts[0][0] != seeded.texts[0][1]
    assert seeded.texts[0][1][0] == noised(DROP, of_words(8), 4, 1, no_progress).texts[0][0][0]
    assert noised(CUT, of_words(8), 3, 2, no_progress).seeds == (3,)
    assert (work(DROP, of_words(8, 2), 5), work(CUT, of_words(8, 2), 5)) == (2 * 2 * 5, 2 * 2)


def test_under_a_seed_that_refuses_the_gold_text_stands() -> None:
    def sometimes(text: str, strength: float, random: Random, context: NoiseContext) -> Outcome:
        return Change(text + "!", (Edit(len(text), len(text), "!"),)) if random.random() < 0.5 else Refused("unlucky")

    found = noised(noise("sometimes", sometimes, seeded=True), of_words(*[4] * 8), 0, 4, no_progress)
    own = {f"w{i}x0 w{i}x1 w{i}x2 w{i}x3" for i in range(8)}
    there = {text for seeds in found.texts[1] for text in seeds}
    assert there & own
    assert there - own
    assert len(found.compared) >= 7  # all four seeds refuse one in sixteen


def test_a_noise_sees_the_source_and_the_other_texts() -> None:
    def with_context(text: str, strength: float, random: Random, context: NoiseContext) -> Outcome:
        return changed(text, [Edit(0, len(text), f"{context.source} {len(context.texts)}")])

    found = noised(
        noise("beside", with_context, needs=frozenset({"source", "others"})), golds(["a", "b"]), 0, 1, no_progress
    )
    assert found.texts[1] == (("source 0 2", "source 1 2"),)


def test_a_signature_names_what_the_texts_depend_on() -> None:
    def signed(seed: int = 0, seeds: int = 2, **facts: object) -> str:
        return noised(replace(DROP, **facts), of_words(4), seed, seeds, no_progress).facts.signature  # type: ignore[arg-type]

    assert signed().startswith("drop|v:1|levels:25%+50%|seeds:0-1|gold:1-")
    assert "|models:m 1|" in signed(models=lambda: "m 1")
    assert (
        len({signed(), signed(seed=1), signed(seeds=3), signed(version=2), signed(levels=(NoiseLevel(0.5, "50%"),))})
        == 5
    )
    assert noised(CUT, of_words(4), 0, 2, no_progress).facts.signature.startswith("cut|v:1|levels:25%+50%|seeds:none|")
    assert noised(DROP, of_words(5), 0, 2, no_progress).facts.signature != signed()


def test_the_texts_of_a_gold_text_follow_it() -> None:
    gold = of_words(8, 4)
    texts = [item.hypothesis for item in noised(CUT, gold, 0, 1, no_progress).items(gold)]
    assert texts[:3] == [gold[0].item.hypothesis, "w0x0 w0x1 w0x2 w0x3 w0x4 w0x5", "w0x0 w0x1 w0x2 w0x3"]
    assert texts[3:] == [gold[1].item.hypothesis, "w1x0 w1x1 w1x2", "w1x0 w1x1"]


def test_tests_are_named_one_by_one_or_as_groups() -> None:
    assert expanded(["all"]) == tuple(NOISES)
    assert expanded(["truncation", "fluency", "truncation"])[0] == "truncation"
    groups = [expanded([g]) for g in ("fluency", "consistency", "special")]
    assert sorted(name for group in groups for name in group) == sorted(NOISES)
    assert {*groups[0], *groups[1]} == set(NOISE_TYPES)
    with pytest.raises(UserError, match="Did you mean truncation"):
        expanded(["truncatoin"])


def test_levels_of_every_noise_can_be_told_apart_in_a_report() -> None:
    for one in noises():
        assert len({level.label for level in one.levels}) == len(one.levels)
    assert [level.label for level in HALVES] == ["25%", "50%"]
