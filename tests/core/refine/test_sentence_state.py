"""Which texts one edit away are candidates, and which of them wins; the two tests for non-translations of METHODS section 1, on numbers small
enough to work out by hand; what was not edited stays as it was written, whatever the tokenizer can spell.
"""

import numpy as np
import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

from core.models.architectures.seq2seq import Seq2SeqScorer
from core.refine.engine import Task, refine_all
from core.refine.result import EDITS, Options
from core.refine.sentence_state import (
    CandidatePool,
    Detokenizer,
    EditCandidate,
    edit_candidates,
    owners_after,
    token_overlap,
    why_not_a_translation,
)
from tests.tiny import tiny_scorer


def test_candidates_at_the_end_only_insert() -> None:
    near, logps = [(7, -1.0), (9, -2.0)], np.array([-0.5, -3.0, -0.25])
    assert {c.edit for c in edit_candidates([0, 9, 2], logps, 2, near, -9.0, EDITS)} == {"insert"}
    # position 1 holds token 9: two insertions, one deletion, and 7 for 9; 9 for 9 would change nothing
    candidates = edit_candidates([0, 9, 2], logps, 1, near, -9.0, EDITS)
    assert [c.ids for c in candidates] == [[0, 7, 9, 2], [0, 9, 9, 2], [0, 2], [0, 7, 2]]
    # known beforehand: −0.5 for the first token, and that of 7, 9, </s>, 7 in its place; the rest is at most 0
    assert [c.precision for c in candidates] == pytest.approx([-1.5 / 4, -2.5 / 4, -9.5 / 2, -1.5 / 3])


def test_of_equal_candidates_the_earlier_wins_even_if_it_is_scored_later() -> None:
    first, second = (EditCandidate("delete", None, [0, 2], 1, np.zeros(0), precision=-1.0) for _ in range(2))
    pool = CandidatePool([first, second], keep=-2.0, variant="precision", slack=1e-6)
    pool.settle(second)
    assert pool.can_win(first)
    assert pool.most_promising(5, lambda c: True) == [first]
    pool.settle(first)
    assert pool.winner is first


def test_overlap_is_shared_over_all_distinct_tokens() -> None:
    # {1,2,3,4} and {3,4,5,6}: two shared of six
    assert token_overlap([1, 2, 3, 4, 4], [3, 4, 5, 6]) == pytest.approx(2 / 6)


@pytest.mark.parametrize(("shared", "flagged"), [(3, True), (4, False)])
def test_ten_tokens_or_more_are_judged_by_overlap(shared: int, flagged: bool) -> None:
    # 10 + 10 − s distinct tokens: s = 3 gives 3/17 = .176 ≤ .2, s = 4 gives 4/16 = .25
    hypothesis, reference = list(range(10)), list(range(10 - shared, 20 - shared))
    why = why_not_a_translation(hypothesis, reference, np.full(10, -9.0), -9.0, -0.1)
    assert bool(why) == flagged


@pytest.mark.parametrize(("low", "flagged"), [(7, True), (6, False)])
def test_shorter_ones_by_the_share_of_improbable_tokens(low: int, flagged: bool) -> None:
    # threshold (−4 + −2) / 2 = −3; `low` of ten tokens lie below it; asked for without the overlap test
    logps = np.array([-5.0] * low + [-1.0] * (10 - low))
    why = why_not_a_translation(list(range(10)), [99], logps, -4.0, -2.0, Options(non_translation="probability"))
    assert bool(why) == flagged


def test_an_empty_output_is_no_translation() -> None:
    assert "empty" in why_not_a_translation([], [1, 2], np.empty(0), -5.0, -0.1)


PIECES = ["▁the", "▁cat", "▁dog", "s", "▁sat", "▁", "a", "t", "."]


def sentencepiece() -> Seq2SeqScorer:
    """A T5 whose tokenizer normalises (NFKC, blanks run together) and knows few characters."""
    words = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", -20.0), *((p, -2.0) for p in PIECES)]
    inner = Tokenizer(models.Unigram(words, unk_id=2, byte_fallback=False))
    inner.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace("  ", " ")])
    inner.pre_tokenizer = pre_tokenizers.Metaspace()
    inner.decoder = decoders.Metaspace()
    inner.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    fast = PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", eos_token="</s>", unk_token="<unk>")
    config = T5Config(
        vocab_size=12, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2, initializer_factor=1.0,
        pad_token_id=0, eos_token_id=1, decoder_start_token_id=0,
    )  # fmt: skip
    return Seq2SeqScorer(T5ForConditionalGeneration(config), fast)


def test_an_edit_leaves_the_rest_to_the_character() -> None:
    scorer, text = sentencepiece(), "the 😀  cat “sat”."
    encoded = scorer.encode(text)
    detokenizer, all_there = Detokenizer(scorer, text, encoded), tuple(range(len(encoded.ids)))
    assert scorer.decode(encoded.ids) != text
    assert detokenizer.detokenize(encoded.ids, all_there) == text
    at = encoded.ids.index(scorer.tokenizer.convert_tokens_to_ids("▁cat"))
    dog = scorer.tokenizer.convert_tokens_to_ids("▁dog")
    new = [*encoded.ids[:at], dog, *encoded.ids[at + 1 :]]
    assert "😀" in (written := detokenizer.detokenize(new, owners_after(all_there, at, "substitute")))
    assert written.endswith("“sat”.")
    assert "dog" in written
    assert "cat" not in written
    gone = detokenizer.detokenize([*encoded.ids[:at], *encoded.ids[at + 1 :]], owners_after(all_there, at, "delete"))
    assert gone.replace(" ", "") == "the😀“sat”."
    more = detokenizer.detokenize([*encoded.ids[:at], dog, *encoded.ids[at:]], owners_after(all_there, at, "insert"))
    assert "dog  cat" in more


def test_the_refined_text_keeps_what_the_tokenizer_cannot_spell() -> None:
    scorer = sentencepiece()
    tasks = [Task("the 😀 cats “sat”.", ("the dog sat .",)), Task("😀 the 😀", ("the cat",))]
    refined = refine_all(scorer, tasks, "precision", Options(rounds=1, edits=("insert",), non_translation="off"))
    assert any(f.steps for f in refined)
    for task, f in zip(tasks, refined, strict=True):
        kept = iter(f.refined)
        assert all(c in kept for c in task.hypothesis if c != " "), f.refined


def test_owners_follow_the_edits() -> None:
    assert owners_after((0, 1, 2), 1, "insert") == (0, None, 1, 2)
    assert owners_after((0, 1, 2), 1, "delete") == (0, 2)
    assert owners_after((0, 1, 2), 1, "substitute") == (0, None, 2)


def test_a_tokenizer_that_spells_everything_is_taken_at_its_word() -> None:
    scorer, text = tiny_scorer(), "The  cat 😀"
    encoded = scorer.encode(text)
    assert Detokenizer(scorer, text, encoded).detokenize(encoded.ids[:-2] + encoded.ids[-1:], ()) == scorer.decode(
        encoded.ids[:-2]
    )
