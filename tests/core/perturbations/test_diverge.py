"""BERT-diverge with a stand-in for the model, tiny masked checkpoints, and the bundled scorer."""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from transformers import RobertaForMaskedLM

from core.models.architectures import language_models
from core.perturbations import candidates, registry
from core.perturbations.base import noise_ratio
from core.perturbations.candidates import WordPlace
from core.text.edits import Change, Refused
from core.text.words import words
from tests import tiny_checkpoints as tiny
from tests.core.perturbations.made import Proposals, change, reason

DIVERGE = registry.noise("diverge")
TEXT = "The old cat sat on a red mat, and the dog ran to the house."  # 15 words
GERMAN = "Der Stadtrat hat am Abend beschlossen, das alte Bad nicht zu schließen."


Propose = Callable[[Proposals], Proposals]


@pytest.fixture
def propose(monkeypatch: pytest.MonkeyPatch) -> Propose:
    def use(model: Proposals) -> Proposals:
        monkeypatch.setattr(candidates, "proposer", lambda: model)
        return model

    return use


@pytest.fixture
def tiny_mlm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tiny.masked(tmp_path / "mlm")
    monkeypatch.setenv("ERRORSCOPE_MLM", str(folder))
    return folder


def test_words_are_replaced_one_by_one_in_the_current_text(propose: Propose) -> None:
    model = propose(Proposals("word0"))
    made = change("diverge", TEXT, 0.4)  # 0.4 · 15 = 6
    assert len(made.edits) == len(model.seen) == 6
    assert {e.new for e in made.edits} == {"word0"}
    assert [sum(w.startswith("word0") for w in place.text.split()) for place in model.seen] == [0, 1, 2, 3, 4, 5]
    assert all(not place.word.startswith("word0") for place in model.seen)
    assert noise_ratio(TEXT, made.text) == 6 / 17  # the comma and the full stop are tokens too


def test_levels_share_one_chain_and_contain_each_other(propose: Propose) -> None:
    model = propose(Proposals("word0"))
    levels = [set(change("diverge", TEXT, level.strength, 3).edits) for level in DIVERGE.levels]
    assert [len(level) for level in levels] == [2, 3, 4, 6, 8]  # shares of 15, rounded (1.5 → 2, 7.5 → 8)
    assert all(weak < strong for weak, strong in pairwise(levels))
    assert len(model.seen) == 8
    change("diverge", TEXT, 0.2, 3)
    assert len(model.seen) == 8
    assert len({tuple(e.start for e in change("diverge", TEXT, 0.1, seed).edits) for seed in range(10)}) > 5


def test_words_are_sampled_by_their_probabilities(propose: Propose) -> None:
    """Log probabilities 0 and −log 3 up to a constant: 3 to 1. Of 400 draws 300 are expected, the deviation is √(400 · ¾ · ¼) = 8.7."""
    propose(Proposals("word0", "word1", scores=(0.0, -1.0986123)))
    drawn = Counter(e.new for seed in range(50) for e in change("diverge", TEXT, 0.5, seed).edits)
    assert drawn.total() == 400
    assert 260 < drawn["word0"] < 340
    assert set(drawn) == {"word0", "word1"}


def test_only_ten_words_are_asked_for(propose: Propose) -> None:
    propose(Proposals(*(f"word{i}" for i in range(30))))
    drawn = {e.new for seed in range(40) for e in change("diverge", TEXT, 0.5, seed).edits}
    assert drawn == {f"word{i}" for i in range(10)}


def test_texts_without_a_proposal_are_refused_with_a_reason(propose: Propose) -> None:
    propose(Proposals())
    assert reason("diverge", TEXT) == "the model proposes no other word at any place"
    propose(Proposals(refused="not English"))
    assert reason("diverge", TEXT) == "not English"
    assert reason("diverge", "… ?") == "no word in the text"


def test_white_space_and_signs_stay_where_they_are(propose: Propose) -> None:
    propose(Proposals("word0"))
    text = "  “One”\tand  two-three,\nfour… "
    assert change("diverge", text).text == "  “word0”\tword0  word0-word0,\nword0… "


@torch.inference_mode()
def test_a_masked_model_expects_what_its_logits_say(tiny_mlm: Path) -> None:
    """The word cat gives way to one mask (id 4) between "The old" and " sat …": the best whole words by the logits there."""
    place = WordPlace("The old cat sat on a mat", 8, 11)
    reader = language_models.load_masked()
    row = [0, *reader.encode("The old"), 4, *reader.encode(" sat on a mat"), 2]
    logits = RobertaForMaskedLM.from_pretrained(tiny_mlm).eval()(torch.tensor([row])).logits[0, row.index(4)]
    words_of = {i: t[1:] for t, i in reader.tokenizer.get_vocab().items() if t.startswith("Ġ") and len(t) > 1}
    order = sorted((i for i in words_of if words_of[i] != "cat"), key=lambda i: -float(logits[i]))
    (proposed,) = candidates.proposer().expected([place], 4)
    assert [w.text for w in proposed] == [words_of[i] for i in order[:4]]
    assert [w.score for w in proposed] == pytest.approx([float(logits[i]) for i in order[:4]], abs=1e-5)


def test_candidates_do_not_depend_on_the_batch(tiny_mlm: Path) -> None:
    places = [WordPlace(text, *words(text)[i]) for text in (TEXT, "the cat sat") for i in (0, 2)]
    together = candidates.proposer().expected(places, 10)
    for place, proposed in zip(places, together, strict=True):
        (alone,) = candidates.proposer().expected([place], 10)
        assert [w.text for w in alone] == [w.text for w in proposed]


def test_candidates_are_other_words_and_whole_ones(tiny_mlm: Path) -> None:
    for i, proposed in enumerate(candidates.proposer().expected([WordPlace(TEXT, *span) for span in words(TEXT)], 10)):
        start, end = words(TEXT)[i]
        assert proposed
        assert TEXT[start:end].casefold() not in {w.text.casefold() for w in proposed}
        assert len({w.text.casefold() for w in proposed}) == len(proposed)
        assert all(words(w.text) == [(0, len(w.text))] for w in proposed)


def test_a_masked_model_reads_any_language_and_signs_the_texts(tiny_mlm: Path) -> None:
    assert isinstance(DIVERGE.noised(GERMAN, 0.5), Change)
    name, _, revision = DIVERGE.models().partition(" ")
    assert name == "mlm"
    assert len(revision) == 12


def test_half_a_character_is_refused(tiny_mlm: Path) -> None:
    assert DIVERGE.noised("the cat \ud800 sat on the mat", 0.5) == Refused(candidates.BROKEN)


@pytest.mark.models
def test_the_bundled_scorer_proposes_only_english_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERRORSCOPE_SEQ2SEQ", "bundled")
    monkeypatch.delenv("ERRORSCOPE_MLM", raising=False)
    text = "She went to the office in Boston. And she talked to her staff about the new bridge."
    (proposed,) = candidates.proposer().expected([WordPlace(text, 16, 22)], 10)
    assert text[16:22] == "office"
    assert len(proposed) == 10
    assert all(w.text.isalnum() and w.text != "office" for w in proposed)
    assert [w.score for w in proposed] == sorted((w.score for w in proposed), reverse=True)
    assert len(change("diverge", text, 0.5).edits) == 8  # 17 words: 8.5 rounds to the even number
    assert DIVERGE.noised(GERMAN, 0.5) == Refused(candidates.NOT_ENGLISH)
    assert DIVERGE.models().startswith("bundled/bart-mini ")
