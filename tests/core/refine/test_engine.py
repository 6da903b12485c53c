"""The detect–correct engine against a plain implementation, on untrained models with strong opinions."""

import gzip
import random

import numpy as np
import pytest
import torch

from core.models.architectures.seq2seq import Seq2SeqScorer, load_seq2seq
from core.progress import Cancelled
from core.refine import rounds
from core.refine.engine import Task, refine, refine_all
from core.refine.result import Options, Variant, token_labels
from core.refine.sentence_state import CandidatePool
from tests.builders import stop_when
from tests.core.refine.oracle import Plain
from tests.paths import DATA
from tests.tiny import FAMILIES, WORDS, tiny_scorer

VARIANTS: list[Variant] = ["precision", "recall", "f", "faithfulness"]
PAIRS = DATA / "training/translation_pairs.tsv.gz"
ALL = Options(non_translation="off")


def sentence(rng: random.Random, longest: int = 12) -> str:
    return "".join(w.replace("Ġ", " ") for w in rng.choices(WORDS, k=rng.randint(2, longest))).strip()


def equal_the_plain_one(
    scorer: Seq2SeqScorer, pairs: list[tuple[str, str]], variant: Variant, options: Options = ALL
) -> list[bool]:
    """Whether every step of (output, condition) pairs is that of the plain implementation; scores must agree where they are.

    Several pairs must contain edits: a model that never edits would equal it without testing anything.
    """
    refined = refine_all(scorer, [Task(y, (r,)) for y, r in pairs], variant, options)
    assert len(pairs) == 1 or sum(len(f.steps) for f in refined) >= 2
    plain, same = Plain(scorer, batch=32), []
    for (y, r), got in zip(pairs, refined, strict=True):
        read = scorer.encode(r, "source" if variant == "faithfulness" else "target")
        want = plain.refine(
            scorer.encode(y).ids, [*read.lead, *read.ids], variant, options.k, options.rounds, options.edits
        )
        same.append([s.text for s in got.steps] == [scorer.decode(t) for t in want.texts[1:]])
        if same[-1]:
            scores = [got.score_hyp, *(s.after for s in got.steps)]
            assert scores == pytest.approx(want.scores, abs=1e-4)
            assert [s.before for s in got.steps] == pytest.approx(want.scores[:-1], abs=1e-4)
            assert got.score_refined == pytest.approx(want.scores[-1], abs=1e-4)
            itself = plain.bartscores([read.ids], [*read.lead, *read.ids], variant)[0]
            assert got.score_ref == pytest.approx(itself, abs=1e-4)
    return same


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("family", FAMILIES)
def test_edits_and_scores_equal_the_plain_implementation(variant: Variant, family: str) -> None:
    rng = random.Random(f"{variant}{family}")
    scorer = FAMILIES[family](1)
    assert all(equal_the_plain_one(scorer, [(sentence(rng, 9), sentence(rng, 9)) for _ in range(2)], variant))


@pytest.mark.parametrize("seed", range(2))
def test_one_sentence_alone_may_lose_its_last_token(seed: int) -> None:
    rng = random.Random(seed)
    options = Options(edits=("delete",), non_translation="off")
    for _ in range(4):
        pair = (sentence(rng), sentence(rng))
        assert equal_the_plain_one(tiny_scorer(seed), [pair], "recall", options) == [True]


@pytest.mark.parametrize("k", [1, 3, 25])
def test_any_k_equals_the_plain_implementation(k: int) -> None:
    rng = random.Random(k)
    pairs = [(sentence(rng), sentence(rng)) for _ in range(2)]
    assert all(equal_the_plain_one(tiny_scorer(2), pairs, "f", Options(k=k, rounds=3, non_translation="off")))


@pytest.mark.parametrize(
    "options",
    [
        Options(edits=("insert",), rounds=4, non_translation="off"),
        Options(edits=("delete", "substitute"), non_translation="off"),
        Options(rounds=9, k=2, non_translation="off"),
        Options(k=1000, rounds=1, non_translation="off"),
    ],
    ids=["insert only", "no insertion", "nine rounds", "the whole vocabulary"],
)
@pytest.mark.parametrize("family", ["bart", "m2m100"])
def test_options_equal_the_plain_implementation(options: Options, family: str) -> None:
    rng = random.Random(9)
    pairs = [(sentence(rng), sentence(rng)) for _ in range(2)]
    assert all(equal_the_plain_one(FAMILIES[family](2), pairs, "precision", options))


def test_a_full_text_takes_no_insertion() -> None:
    rng, scorer = random.Random(11), tiny_scorer(1, positions=12)
    pairs = [("".join(rng.choices("abcdefgh", k=10)), "the cat ran") for _ in range(6)]
    options = Options(rounds=2, non_translation="off")
    assert {len(scorer.encode(y).ids) for y, _ in pairs} == {12}
    assert all(equal_the_plain_one(scorer, pairs, "precision", options))
    refined = refine_all(scorer, [Task(y, (r,)) for y, r in pairs], "precision", options)
    first = [f.steps[0].edit for f in refined if f.steps]
    assert len(first) >= 3
    assert "insert" not in first


def test_work_is_done_in_pieces_that_fit_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    scorer, sizes = tiny_scorer(4), []
    once = scorer.once
    monkeypatch.setattr(
        scorer, "once", lambda rows, **k: sizes.append(sum(len(r.ids) for r in rows)) or once(rows, **k)
    )
    monkeypatch.setattr(scorer.budget, "tokens", 90)
    rng = random.Random(3)
    tasks = [Task(sentence(rng, 20), (sentence(rng, 20),)) for _ in range(3)]
    options = Options(rounds=2, non_translation="off")
    small = refine_all(scorer, tasks, "f", options)
    assert max(sizes) <= 90
    monkeypatch.setattr("core.refine.rounds.bytes_for", lambda device: 0)  # no keys and values are kept
    bare = refine_all(scorer, tasks, "f", options)
    monkeypatch.undo()
    for a, b, c in zip(small, bare, refine_all(scorer, tasks, "f", options), strict=True):
        assert [s.text for s in a.steps] == [s.text for s in b.steps] == [s.text for s in c.steps]


def test_running_out_of_memory_does_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    scorer, rng = tiny_scorer(4), random.Random(5)
    tasks = [Task(sentence(rng), (sentence(rng),)) for _ in range(3)]
    options = Options(rounds=2, non_translation="off")
    usual, bounds = refine_all(scorer, tasks, "f", options), scorer.bounds

    def tight(hidden, targets, some):  # type: ignore[no-untyped-def]
        if len(targets) > 60:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return bounds(hidden, targets, some)

    monkeypatch.setattr(scorer.budget, "tokens", 400)
    monkeypatch.setattr(scorer, "bounds", tight)
    assert [f.refined for f in refine_all(scorer, tasks, "f", options)] == [f.refined for f in usual]
    assert scorer.budget.tokens < 400


def test_no_text_is_compared_in_two_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    pools: list[list[tuple[int, ...]]] = []
    made = rounds.edit_candidates
    again = []

    def edits(*arguments):  # type: ignore[no-untyped-def]
        candidates = made(*arguments)
        again.extend(tuple(c.ids) for c in candidates if any(tuple(c.ids) in pool for pool in pools))
        return candidates

    def pool(entered, *rest):  # type: ignore[no-untyped-def]
        pools.append([tuple(c.ids) for c in entered])
        return CandidatePool(entered, *rest)

    monkeypatch.setattr(rounds, "edit_candidates", edits)
    monkeypatch.setattr(rounds, "CandidatePool", pool)
    rng = random.Random(6)
    for seed in range(4):
        pools.clear()
        refine_all(tiny_scorer(seed), [Task(sentence(rng), (sentence(rng),))], "precision", ALL)
        texts = [ids for one in pools for ids in one]
        assert len(texts) == len(set(texts))
    assert again  # rounds do propose some of them again


@pytest.mark.models
@pytest.mark.parametrize(("variant", "count"), [("precision", 3), ("f", 1)])
def test_real_outputs_equal_the_plain_implementation(variant: Variant, count: int) -> None:
    if not PAIRS.exists():
        pytest.skip("the translation pairs are not on this machine")
    with gzip.open(PAIRS, "rt", encoding="utf-8") as handle:
        rows = [line.rstrip("\n").split("\t")[:2] for line, _ in zip(handle, range(20_000), strict=False)]
    fit = [(h, r) for r, h in rows if 4 <= len(h.split()) <= 10]
    pairs = [fit[i] for i in np.random.default_rng(0).permutation(len(fit))[:count]]
    assert all(equal_the_plain_one(load_seq2seq("bundled"), pairs, variant))


def test_the_score_of_the_refined_text_is_that_of_the_exported_tokens() -> None:
    rng, scorer = random.Random(3), tiny_scorer(1)
    tasks = [Task(sentence(rng), (sentence(rng),)) for _ in range(8)]
    deleting = Options(non_translation="off", edits=("delete",), rounds=1)
    refined = [refine_all(scorer, tasks, "f", options) for options in (ALL, deleting)]
    plain, kinds = Plain(scorer, batch=32), set()
    for task, refinement in zip(tasks * 2, [*refined[0], *refined[1]], strict=True):
        read, ids = scorer.encode(task.conditions[0], "target"), tuple(scorer.encode(refinement.refined).ids)
        assert refinement.refined_ids != ids
        scored = refinement.refined_ids or ids
        right = plain.bartscores([list(scored)], [*read.lead, *read.ids], "f")[0]
        assert refinement.score_refined == pytest.approx(right, abs=1e-4)
        if refinement.steps:
            kinds.add(bool(refinement.refined_ids))
    assert kinds == {False, True}


def test_mates_and_order_do_not_change_an_analysis() -> None:
    scorer, rng = tiny_scorer(3), random.Random(8)
    tasks = [Task(sentence(rng, 15), tuple(sentence(rng, 15) for _ in range(n))) for n in (1, 3, 2, 1)]
    together = refine_all(scorer, tasks, "f")
    alone = [refine(scorer, t.hypothesis, t.conditions, "f") for t in tasks]
    backwards = refine_all(scorer, tasks[::-1], "f")[::-1]
    for other in (alone, backwards):
        for a, b in zip(together, other, strict=True):
            assert (a.refined, a.condition, [s.text for s in a.steps]) == (
                b.refined,
                b.condition,
                [s.text for s in b.steps],
            )
            assert a.parts() == pytest.approx(b.parts(), abs=1e-4)


def test_without_rounds_nothing_is_edited() -> None:
    rng = random.Random(2)
    tasks = [Task(sentence(rng), (sentence(rng),)) for _ in range(6)]
    none = refine_all(tiny_scorer(0), tasks, "precision", Options(rounds=0, non_translation="off"))
    assert all(not f.steps and f.dist_exp == 0 for f in none)


def test_the_tests_for_non_translations_can_be_chosen() -> None:
    def why(text: str, **options) -> str:
        refinement = refine(tiny_scorer(), text, ["The dog sat on the mat"], "f", Options(**options))
        assert refinement.non_translation == bool(refinement.why_non_translation)
        assert not refinement.non_translation or (refinement.refined, refinement.steps, refinement.dist_exp) == (
            text,
            (),
            0,
        )
        return refinement.why_non_translation

    assert "overlap" in why("qqq zzz xxx vvv jjj the")
    assert "overlap" not in why("qqq zzz xxx vvv jjj the", overlap=0.0)
    assert "log probability" in why("qqq zzz xxx vvv jjj", non_translation="probability", share=0.05)
    assert why("qqq zzz xxx vvv jjj", non_translation="off") == ""
    assert why("") == "the output is empty"
    assert why("", non_translation="off") == ""


def test_a_prompt_that_does_not_fit_any_more_is_said() -> None:
    scorer, full = tiny_scorer(0, positions=16), "abcdefghijklmn"
    assert len(scorer.encode(full).ids) == 16
    for side in ("encoder", "decoder"):
        assert not refine(scorer, "the cat", [full], "precision", ALL).truncated
        assert refine(scorer, "the cat", [full], "precision", Options(prompts=("so",), side=side)).truncated


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_prompts_enter_the_three_scores_and_not_the_refinement(side) -> None:
    scorer, y, r = tiny_scorer(1), "The cat sat on a red mat", "The dog sat on the mat"
    bare = refine(scorer, y, [r], "f", ALL)
    refinement = refine(scorer, y, [r], "f", Options(prompts=("the house", "a dog"), side=side, non_translation="off"))
    assert refinement.refined == bare.refined
    assert [s.text for s in refinement.steps] == [s.text for s in bare.steps]

    def score(
        text: str,
    ) -> float:  # METHODS section 1: " {prompt}," after the condition, or "{prompt}, " before the text
        plain, values = Plain(scorer), []
        for p in ("the house", "a dog"):
            for condition, scored in ((r, text), (text, r)):
                c, t = (f"{condition} {p},", scored) if side == "encoder" else (condition, f"{p}, {scored}")
                values.append(np.mean(plain.logps(scorer.encode(c).ids, scorer.encode(t).ids)))
        return float(np.mean(values))

    assert refinement.score_hyp == pytest.approx(score(y), abs=1e-4)
    assert refinement.score_refined == pytest.approx(score(bare.refined), abs=1e-4)
    assert refinement.score_ref == pytest.approx(score(r), abs=1e-4)


def test_the_work_stops_when_nobody_wants_it_any_more() -> None:
    heard: list[float] = []

    def until_two(share: float) -> None:
        heard.append(share)
        if share >= 2 / 12:
            raise Cancelled

    rng = random.Random(0)
    tasks = [Task(sentence(rng), (sentence(rng),)) for _ in range(12)]
    with pytest.raises(Cancelled):
        refine_all(tiny_scorer(), tasks, "precision", ALL, until_two)
    asked = iter([True] * 12)  # prompted scores are heard of too
    with pytest.raises(Cancelled):
        refine_all(
            tiny_scorer(), tasks, "f", Options(rounds=0, prompts=tuple("abcdefgh"), non_translation="off"),
            progress=stop_when(lambda share: not next(asked, False)),
        )  # fmt: skip
    assert heard == sorted(heard)
    heard.clear()
    refine_all(tiny_scorer(), tasks, "precision", Options(rounds=1), heard.append)
    assert heard[-1] == 1.0


def test_a_task_without_a_condition_is_an_error() -> None:
    with pytest.raises(ValueError, match="reference"):
        refine(tiny_scorer(), "a", [], "f")
    assert refine_all(tiny_scorer(), [], "f") == []


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    ("y", "r"),
    [
        ("", ""),
        ("", "the cat"),
        ("the cat", ""),
        ("a", "a"),
        ("the cat", "the cat"),
        ("😀", "القط"),
        ("the\u2028cat", "a"),
    ],
)
def test_odd_texts_are_analysed(variant: Variant, y: str, r: str) -> None:
    for options in (Options(), ALL):
        refinement = refine(tiny_scorer(), y, [r], variant, options)
        assert all(np.isfinite(list(refinement.parts().values())))
        assert refinement.dist_exp >= 0


def test_a_long_text_is_cut_at_the_model_limit_and_refined() -> None:
    scorer = tiny_scorer(0)  # reads 128
    refinement = refine(
        scorer, "the cat sat " * 400, ["the dog ran " * 400], "precision", Options(rounds=2, non_translation="off")
    )
    assert refinement.truncated
    assert len(refinement.tokens) == 127  # without <s>


@pytest.mark.parametrize("text", ["", "<s> a </s>", "😀 the cat", "القط على الحصيرة", "the\u2028cat", "a"])
def test_any_text_is_analysed_and_its_tokens_cover_it(text: str) -> None:
    refinement = refine(tiny_scorer(), text, ["The dog sat on the mat"], "f")
    covered = set()
    for token in refinement.tokens:
        assert text[token.start : token.end] == token.text
        covered |= set(range(token.start, token.end))
        assert token.logp <= 0
    assert covered == set(range(len(text)))
    assert (refinement.tokens[-1].start, refinement.tokens[-1].end) == (len(text), len(text))
    labels = token_labels([token[:3] for token in refinement.tokens])
    assert "".join(labels).replace("\u200d", "") == text  # a character that several tokens encode is written once
    assert ("\u200d" in "".join(labels)) == (text[:1] == "ا")  # joined letters stay joined


def test_the_best_reference_by_plain_score_is_used_and_recorded() -> None:
    scorer = tiny_scorer()
    references = ["a dog ran", "The cat sat on the mat", "the house"]
    y = scorer.encode("The cat sat on a mat").ids
    scores = [Plain(scorer).bartscores([y], scorer.encode(r).ids, "f")[0] for r in references]
    refinement = refine(scorer, "The cat sat on a mat", references, "f")
    assert refinement.condition == scores.index(max(scores))
    assert refinement.score_hyp == pytest.approx(max(scores), abs=1e-4)
