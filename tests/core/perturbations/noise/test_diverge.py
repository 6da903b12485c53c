"""BERT-diverge with a stand-in for the model, tiny masked checkpoints, and the bundled scorer."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from transformers import RobertaForMaskedLM

from core.models.architectures import language_models
from core.perturbations import candidates, registry
from core.perturbations.candidates import WordCandidate, WordPlace
from core.perturbations.noise.base import noise_ratio
from core.text.edits import Change, Refused
from core.text.words import words
from tests import tiny_checkpoints as tiny

DIVERGE = registry.noise("diverge")
TEXT = "The old cat sat on a red mat, and the dog ran to the house."  # 15 words
GERMAN = "Der Stadtrat hat am Abend beschlossen, das alte Bad nicht zu schließen."


class Numbered:
    """Expects `word0`, `word1`, … and remembers the texts it was shown."""

    def __init__(self, scores: Sequence[float] = (0.0,), refused: str = "") -> None:
        self.scores, self.refused, self.seen = scores, refused, list[WordPlace]()

    def refuses(self, text: str) -> str:
        return self.refused

    def expected(self, places: Sequence[WordPlace], k: int) -> list[list[WordCandidate]]:
        self.seen += places
        return [[WordCandidate(f"word{i}", score) for i, score in enumerate(self.scores[:k])] for _ in places]


@pytest.fixture
def numbered(monkeypatch: pytest.MonkeyPatch) -> Numbered:
    model = Numbered()
    monkeypatch.setattr(candidates, "proposer", lambda: model)
    return model


@pytest.fixture
def tiny_mlm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tiny.masked(tmp_path / "mlm")
    monkeypatch.setenv("ERRORSCOPE_MLM", str(folder))
    return folder


def made(text: str, strength: float, seed: int = 0) -> Change:
    found = DIVERGE.noised(text, strength, seed)
    assert isinstance(found, Change), found
    return found


def test_words_are_replaced_one_by_one_in_the_current_text(numbered: Numbered) -> None:
    found = made(TEXT, 0.4)  # 0.4 · 15 = 6
    assert len(found.edits) == len(numbered.seen) == 6
    assert {e.new for e in found.edits} == {"word0"}
    assert [len([w for w in place.text.split() if w.startswith("word0")]) for place in numbered.seen] == [
        0,
        1,
        2,
        3,
        4,
        5,
    ]
    assert all(not place.word.startswith("word0") for place in numbered.seen)
    assert noise_ratio(TEXT, found.text) == 6 / 17  # the comma and the full stop are tokens too


def test_levels_share_one_chain_and_contain_each_other(numbered: Numbered) -> None:
    levels = [set(made(TEXT, level.strength, 3).edits) for level in DIVERGE.levels]
    assert [len(level) for level in levels] == [2, 3, 4, 6, 8]  # shares of 15, rounded (1.5 → 2, 7.5 → 8)
    assert all(weak < strong for weak, strong in zip(levels, levels[1:], strict=False))
    assert len(numbered.seen) == 8
    made(TEXT, 0.2, 3)
    assert len(numbered.seen) == 8


def test_seeds_choose_other_places(numbered: Numbered) -> None:
    assert len({tuple(e.start for e in made(TEXT, 0.1, seed).edits) for seed in range(10)}) > 5


def test_words_are_sampled_by_their_probabilities(monkeypatch: pytest.MonkeyPatch) -> None:
    """Log probabilities 0 and −log 3 up to a constant: 3 to 1. Of 400 draws 300 are expected, the deviation is √(400 · ¾ · ¼) = 8.7."""
    model = Numbered((0.0, -1.0986123))
    monkeypatch.setattr(candidates, "proposer", lambda: model)
    drawn = Counter(e.new for seed in range(50) for e in made(TEXT, 0.5, seed).edits)
    assert drawn.total() == 400
    assert 260 < drawn["word0"] < 340
    assert set(drawn) == {"word0", "word1"}


def test_only_ten_words_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Numbered((0.0,) * 30)
    monkeypatch.setattr(candidates, "proposer", lambda: model)
    drawn = {e.new for seed in range(40) for e in made(TEXT, 0.5, seed).edits}
    assert drawn == {f"word{i}" for i in range(10)}


def test_a_place_without_a_word_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "proposer", lambda: Numbered(()))
    assert DIVERGE.noised(TEXT, 0.5) == Refused("the model proposes no other word at any place")


def test_texts_the_model_cannot_read_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "proposer", lambda: Numbered(refused="not English"))
    assert DIVERGE.noised(TEXT, 0.5) == Refused("not English")
    assert DIVERGE.noised("… ?", 0.5) == Refused("no word in the text")


def test_white_space_and_signs_stay_where_they_are(numbered: Numbered) -> None:
    text = "  “One”\tand  two-three,\nfour… "
    found = made(text, 1.0)
    assert found.text == "  “word0”\tword0  word0-word0,\nword0… "


@torch.inference_mode()
def test_a_masked_model_expects_what_its_logits_say(tiny_mlm: Path) -> None:
    """The word cat gives way to one mask (id 4) between "The old" and " sat …": the best whole words by the logits there."""
    place = WordPlace("The old cat sat on a mat", 8, 11)
    reader = language_models.load_masked()
    row = [0, *reader.encode("The old"), 4, *reader.encode(" sat on a mat"), 2]
    logits = RobertaForMaskedLM.from_pretrained(tiny_mlm).eval()(torch.tensor([row])).logits[0, row.index(4)]
    words_of = {i: t[1:] for t, i in reader.tokenizer.get_vocab().items() if t.startswith("Ġ") and len(t) > 1}
    order = sorted((i for i in words_of if words_of[i] != "cat"), key=lambda i: -float(logits[i]))
    (found,) = candidates.proposer().expected([place], 4)
    assert [w.text for w in found] == [words_of[i] for i in order[:4]]
    assert [w.score for w in found] == pytest.approx([float(logits[i]) for i in order[:4]], abs=1e-5)


def test_candidates_do_not_depend_on_the_batch(tiny_mlm: Path) -> None:
    places = [WordPlace(text, *words(text)[i]) for text in (TEXT, "the cat sat") for i in (0, 2)]
    together = candidates.proposer().expected(places, 10)
    for place, found in zip(places, together, strict=True):
        (alone,) = candidates.proposer().expected([place], 10)
        assert [w.text for w in alone] == [w.text for w in found]


def test_candidates_are_other_words_and_whole_ones(tiny_mlm: Path) -> None:
    for i, found in enumerate(candidates.proposer().expected([WordPlace(TEXT, *span) for span in words(TEXT)], 10)):
        start, end = words(TEXT)[i]
        assert found
        assert TEXT[start:end].casefold() not in {w.text.casefold() for w in found}
        assert len({w.text.casefold() for w in found}) == len(found)
        assert all(words(w.text) == [(0, len(w.text))] for w in found)


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
    (found,) = candidates.proposer().expected([WordPlace(text, 16, 22)], 10)
    assert text[16:22] == "office"
    assert len(found) == 10
    assert all(w.text.isalnum() and w.text != "office" for w in found)
    assert [w.score for w in found] == sorted((w.score for w in found), reverse=True)
    assert len(made(text, 0.5).edits) == 8  # 17 words: 8.5 rounds to the even number
    assert DIVERGE.noised(GERMAN, 0.5) == Refused(candidates.NOT_ENGLISH)
    assert DIVERGE.models().startswith("bundled/bart-mini ")
