"""The greedy attack of He et al. 2023, appendix J, on metrics whose best edit is known."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from core.data import Item, Value
from core.errors import UserError
from core.metrics import registry
from core.metrics.base import Metric
from core.perturbations import candidates
from core.perturbations.base import noise_ratio
from core.progress import Cancelled, no_progress
from core.robustness.attack import Attack, AttackStep, Shift, attack, compare, relative, signed
from core.text.words import words
from tests import tiny_checkpoints as tiny
from tests.builders import counting_metric, stop_when
from tests.core.perturbations.made import Proposals
from tests.minilm import need_minilm

TEXT = "The old cat sat on a red mat, and the dog ran to the house."
CHRF = registry.load_metric("chrf")


Propose = Callable[[Proposals, Proposals], None]


@pytest.fixture
def propose(monkeypatch: pytest.MonkeyPatch) -> Propose:
    def use(expected: Proposals, near: Proposals) -> None:
        monkeypatch.setattr(candidates, "proposer", lambda: expected)
        monkeypatch.setattr(candidates, "neighbours", lambda: near)

    return use


@pytest.fixture
def tiny_mlm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERRORSCOPE_MLM", str(tiny.masked(tmp_path / "mlm")))


def lower_is_better(metric: Metric) -> Metric:
    return replace(metric, spec=replace(metric.spec, higher_is_better=False))


def test_the_best_edit_is_made_until_the_bound_is_reached(propose: Propose) -> None:
    """The metric is the length: of all edits the longest word wins, at its first place, and goes on to the next one."""
    propose(Proposals("xxx"), Proposals("yyyy"))
    made = attack("a b c d", None, counting_metric(), 0.5)
    first = AttackStep(0, "a", "yyyy", "yyyy b c d", 10.0, 0.25)
    second = AttackStep(5, "b", "yyyy", "yyyy yyyy c d", 13.0, 0.5)
    assert made == Attack("a b c d", 7.0, (first, second), "")
    assert (made.text, made.ratio) == ("yyyy yyyy c d", 0.5)


def test_lower_is_better_minimises_and_deletion_comes_first(propose: Propose) -> None:
    propose(Proposals("xxx"), Proposals())
    made = attack("a b c d", None, lower_is_better(counting_metric()), 0.75)
    assert [s.text for s in made.steps] == ["b c d", "c d", "d"]
    assert [(s.start, s.old, s.new) for s in made.steps] == [(0, "a", ""), (0, "b", ""), (0, "c", "")]
    assert made.ratio == 0.75


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("One sometimes.", "One."),
        ("To (be certainly)", "To (be)"),
        ("(Clearly) no", "() no"),
        ("(Clearly no)", "(no)"),
        ("yes-certainly no", "yes-no"),
        ("Certainly no", "no"),
        (" Certainly\nno", " no"),
    ],
)
def test_a_deleted_word_takes_adjacent_white_space(propose: Propose, text: str, after: str) -> None:
    """The metric counts letters, and fewer are better: the longest word goes first."""
    propose(Proposals(), Proposals())
    letters = counting_metric(of=lambda item: Value(float(sum(c.isalpha() for c in item.hypothesis))))
    assert attack(text, None, lower_is_better(letters), 0.01).steps[0].text == after


def test_the_last_word_is_kept_and_the_stop_is_explained(propose: Propose) -> None:
    propose(Proposals(), Proposals())
    made = attack("one three", None, counting_metric(), 1.0)
    assert [s.text for s in made.steps] == ["three"]
    assert made.reason == "no edit is left that raises the noise ratio"


def test_an_edit_is_never_taken_back(propose: Propose) -> None:
    """The original words are among the candidates; every step changes one token more."""
    propose(Proposals("the", "cat", "sat", "xyz"), Proposals())
    made = attack("the cat sat on the mat", None, CHRF, 1.0)
    ratios = [s.ratio for s in made.steps]
    assert ratios == sorted(set(ratios))
    assert all(s.ratio == noise_ratio("the cat sat on the mat", s.text) for s in made.steps)


def test_each_step_is_the_best_of_all_edits_by_brute_force(propose: Propose) -> None:
    near = Proposals("cats", "mats", "sit")
    propose(Proposals("dog"), near)
    made = attack(TEXT, None, CHRF, 0.2)
    text, ratio = TEXT, 0.0
    assert len(made.steps) == 4  # 17 tokens: 4 / 17 is the first ratio above 0.2
    for step in made.steps:
        tried = set()
        for start, end in words(text):
            for new in ("dog", "cats", "mats", "sit"):
                tried.add(text[:start] + new + text[end:])
            tried.add(text[:start].rstrip() + text[end:] if start else text[end:].lstrip())
        tried = {t for t in tried if noise_ratio(TEXT, t) > ratio}
        scores = CHRF.score([Item(None, t, (TEXT,)) for t in tried], no_progress)
        assert step.score == max(v.value for v in scores if v.value is not None)
        assert step.text in tried
        text, ratio = step.text, step.ratio


@pytest.mark.parametrize(
    ("needs", "references"),
    [(frozenset({"reference", "source"}), (TEXT,)), (frozenset({"source"}), ()), (frozenset(), ())],
)
def test_the_original_is_the_reference_if_one_is_needed(
    propose: Propose, needs: frozenset[str], references: tuple[str, ...]
) -> None:
    propose(Proposals("x"), Proposals())
    seen: list[Item] = []
    attack(TEXT, "Quelle", counting_metric(needs=needs, seen=seen), 0.01)
    assert seen[0] == Item("Quelle", TEXT, references)
    assert {(i.source, i.references) for i in seen} == {("Quelle", references)}
    assert len({i.hypothesis for i in seen[1:]}) == len(seen) - 1 == 30  # 15 words, each deleted and replaced once


def test_the_numbers_of_candidates_bound_them(propose: Propose) -> None:
    propose(Proposals("x1", "x2", "x3"), Proposals("y1", "y2", "y3"))
    seen: list[Item] = []
    attack("a b", None, counting_metric(seen=seen), 0.01, expected=2, near=1)
    assert {i.hypothesis for i in seen} == {"a b", "b", "a", "x1 b", "x2 b", "y1 b", "a x1", "a x2", "a y1"}


def test_without_candidates_words_are_only_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    def never() -> None:
        raise AssertionError

    monkeypatch.setattr(candidates, "proposer", never)
    monkeypatch.setattr(candidates, "neighbours", never)
    made = attack(TEXT, None, CHRF, 0.2, expected=0, near=0)
    assert all(step.new == "" for step in made.steps)
    assert signed(CHRF, 0.2, 0, 0) == CHRF.signature() + "|attack|v:2|bound:0.2|k1:0|k2:0|expected:none|near:none"


def test_texts_without_a_score_are_passed_over(propose: Propose) -> None:
    propose(Proposals("xxx", "yyyy"), Proposals())

    def of(item: Item) -> Value:
        if "yyyy" in item.hypothesis:
            return Value(None, "undefined", "why")
        return Value(float("nan")) if len(item.hypothesis) == 1 else Value(float(len(item.hypothesis)))

    assert attack("a b", None, counting_metric(of=of), 0.5).steps[0].text == "xxx b"
    silent = counting_metric(of=lambda item: Value(None, "undefined", "why"))
    assert attack("a b", None, silent, 0.5) == Attack("a b", None, (), "the text has no score: why")
    only = counting_metric(of=lambda item: Value(1.0) if item.hypothesis == "a b" else Value(None, "undefined", "why"))
    assert attack("a b", None, only, 0.5) == Attack("a b", 1.0, (), "no edited text has a score: why")


def test_what_cannot_be_attacked_says_why(propose: Propose) -> None:
    propose(Proposals(refused="not English"), Proposals())
    assert attack("a b", None, CHRF, 0.5).reason == "not English"
    needs = counting_metric(needs=frozenset({"source"}))
    assert attack("a b", None, needs, 0.5).reason == "length needs a source text, and this text has none"
    for bound in (0.0, -1.0, 1.1, float("nan")):
        with pytest.raises(UserError, match="invalid bound"):
            attack("a b", None, CHRF, bound)
    with pytest.raises(UserError, match="negative number of candidates"):
        attack("a b", None, CHRF, 0.1, near=-1)


def test_progress_is_the_share_of_the_bound_and_can_cancel(propose: Propose) -> None:
    propose(Proposals("x"), Proposals())
    shares: list[float] = []
    attack("a b c d", None, CHRF, 0.5, progress=shares.append)
    assert shares == sorted(shares)
    assert sorted(set(shares)) == [0.0, 0.5, 1.0]  # ratio 0, ¼ and ½ of the bound ½
    with pytest.raises(Cancelled):
        attack("a b c d", None, CHRF, 0.5, progress=stop_when(lambda share: share >= 0.5))


def test_other_metrics_are_compared_in_their_own_direction() -> None:
    """Length 4 → 2 is −50 %; where lower is better it is +50 %."""
    gold = Item(None, "four", ("r",))
    length, shorter = counting_metric(), lower_is_better(counting_metric("short"))
    assert compare(gold, "xx", [length, shorter]) == [
        Shift("length", "length|v:1", 4.0, 2.0, -0.5),
        Shift("short", "short|v:1", 4.0, 2.0, 0.5),
    ]
    assert relative(length.spec, -2.0, -3.0) == (-0.5, "")
    assert relative(length.spec, 0.0, 1.0) == (None, "the score of the good text is 0")
    assert relative(length.spec, None, 1.0, "why") == (None, "why")


def test_a_metric_that_lacks_a_text_or_a_score_says_so() -> None:
    lone = Item(None, "four", ())
    assert compare(lone, "xx", [CHRF])[0].reason == "chrF needs a reference, but this segment has none"
    silent = counting_metric(of=lambda i: Value(None, "undefined", "why") if i.hypothesis == "xx" else Value(1.0))
    assert compare(lone, "xx", [silent])[0] == Shift("length", "length|v:1", 1.0, None, None, "why")


def test_an_attack_is_the_same_every_time(tiny_mlm: None) -> None:
    first = attack(TEXT, None, CHRF, 0.2)
    assert first.steps
    assert attack(TEXT, None, CHRF, 0.2) == first


def test_near_words_are_those_with_the_highest_cosine(tiny_mlm: None) -> None:
    import numpy as np

    from core.models.architectures import language_models

    reader = language_models.load_masked()
    table = reader.model.get_input_embeddings().weight.detach().double().numpy()
    spaced = {i: t[1:] for t, i in reader.tokenizer.get_vocab().items() if t.startswith("Ġ") and len(t) > 1}
    own = table[reader.encode(" houses")].mean(axis=0)  # two tokens: Ġhouse, s
    assert len(reader.encode(" houses")) == 2

    def cosine(i: int) -> float:
        return float(table[i] @ own / np.linalg.norm(table[i]) / np.linalg.norm(own))

    expected = sorted(spaced, key=cosine, reverse=True)[:8]
    nearest = candidates.neighbours().near("houses", 8)
    assert [w.text for w in nearest] == [spaced[i] for i in expected]
    assert [w.score for w in nearest] == pytest.approx([cosine(i) for i in expected], abs=1e-5)


def test_the_signature_names_the_models(tiny_mlm: None) -> None:
    mlm = candidates.name_with_revision(candidates.proposer_checkpoint())
    assert signed(CHRF, 0.15) == (f"{CHRF.signature()}|attack|v:2|bound:0.15|k1:8|k2:8|expected:{mlm}|near:{mlm}")


@pytest.mark.models
def test_bertscore_falls_less_than_chrf_under_an_attack_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    need_minilm(monkeypatch)
    monkeypatch.setenv("ERRORSCOPE_SEQ2SEQ", "bundled")
    monkeypatch.delenv("ERRORSCOPE_MLM", raising=False)
    bertscore = registry.load_metric("bertscore")
    made = attack("The old man bought seven red apples in the market.", None, bertscore, 0.15)
    assert made.ratio >= 0.15
    assert made.reason == ""
    (chrf,) = compare(Item(None, made.original, (made.original,)), made.text, [CHRF])
    drop, reason = relative(bertscore.spec, made.before, made.steps[-1].score)
    assert reason == ""
    assert chrf.change is not None
    assert drop is not None
    assert chrf.change < drop <= 0
    assert [w.text for w in candidates.neighbours().near("seven", 8)].count("eight") == 1
