"""MoverScore equals the released program on the same encoder; the transport is exact; Sentence Mover's Similarity by hand."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.data import Item, Value
from core.metrics import registry
from core.metrics.embedding.distances import earth_movers_distance
from core.models.architectures.encoder import load_encoder
from core.progress import no_progress
from tests.core.metrics.all_outputs import all_outputs
from tests.core.metrics.similarity_cases import CASES, apart
from tests.core.tiny_encoder import use_encoder_of

USED = [case for case in CASES if case.moverscore is not None]
ITEMS = [Item(str(i), case.output, (case.reference,)) for i, case in enumerate(USED)]


@pytest.fixture(autouse=True)
def _encoder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    use_encoder_of(request, monkeypatch)


def vectors(text: str, places: list[int], pool: str = "mean") -> np.ndarray:
    """Return the vectors (places, d) of these tokens from the last five layers, each scaled to length 1."""
    states = load_encoder().tokens([text], [2, 3, 4, 5, 6])[0].states[:, places].astype(np.float64)
    unit = states / np.linalg.norm(states, axis=2, keepdims=True)
    joined = [unit.mean(axis=0)] if pool == "mean" else [unit.min(axis=0), unit.mean(axis=0), unit.max(axis=0)]
    pooled = np.concatenate(joined, axis=1)
    return pooled / np.linalg.norm(pooled, axis=1, keepdims=True)


def first_pieces(text: str) -> list[int]:
    """Return the places of the first tokens of words."""
    read = load_encoder().read(text)
    return [i for i in range(1, len(read.ids)) if read.words[i] != read.words[i - 1] and not read.special[i]]


def test_a_transport_by_hand() -> None:
    # Half the supply stays (cost 0), 0.25 goes from the second place to the first (3), 0.25 stays there (0): 0.75.
    cost = np.array([[0.0, 2.0], [3.0, 0.0]])
    assert earth_movers_distance(np.array([1.0, 1]), np.array([3.0, 1]), cost) == pytest.approx(0.25 * 3)
    assert earth_movers_distance(np.array([2.0, 0]), np.array([1.0, 3]), cost) == pytest.approx(0.75 * 2)
    with pytest.raises(ValueError, match="all weights are 0"):
        earth_movers_distance(np.zeros(2), np.ones(2), cost)


@given(st.lists(st.lists(st.integers(0, 9), min_size=4, max_size=4), min_size=4, max_size=4))
def test_with_equal_weights_the_transport_is_the_best_matching(rows: list[list[int]]) -> None:
    # Birkhoff: with equal weights a permutation is optimal, so all 24 of them are tried.
    cost = np.array(rows, dtype=float)
    best = min(sum(cost[i, j] for i, j in enumerate(order)) / 4 for order in itertools.permutations(range(4)))
    assert earth_movers_distance(np.ones(4), np.ones(4), cost) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_a_large_transport_solved_by_parts_is_optimal(seed: int) -> None:
    from scipy.optimize import linear_sum_assignment

    rng = np.random.default_rng(seed)
    cost = rng.random((70, 70)) if seed % 2 else rng.integers(0, 4, (70, 70)).astype(float)
    best = cost[linear_sum_assignment(cost)].mean()
    assert earth_movers_distance(np.ones(70), np.ones(70), cost) == pytest.approx(best, abs=1e-9)
    # A point cut in two, with its weight, changes nothing.
    halves = np.ones(71)
    halves[-2:] = 0.5
    assert earth_movers_distance(halves, np.ones(70), np.vstack([cost, cost[-1]])) == pytest.approx(best, abs=1e-9)


# The functions of moverscore.py (moverscore 1.0.3): word_mover_score(references, outputs, get_idf_dict(references),
# get_idf_dict(outputs), stop_words=[], n_gram=1, remove_subwords=True), its BERT replaced by all-MiniLM-L6-v2 and pyemd's
# emd by POT 0.9.7's exact ot.emd2. Outputs without a word are left out: the program fails on them.
@pytest.mark.models
def test_it_equals_the_released_program() -> None:
    metric = registry.load_metric("moverscore")
    assert metric.fit is not None
    values = apart(metric.for_outputs(all_outputs(ITEMS)), ITEMS)
    assert [v.value for v in values] == pytest.approx([case.moverscore for case in USED], abs=1e-4)


@pytest.mark.parametrize("pool", ["mean", "pmeans"])
def test_without_idf_two_words_cost_their_distance(pool: str) -> None:
    # One word on either side: the whole weight goes one way, 1 − ‖x − y‖ or 1 − ‖x − y‖². The signs are no words.
    distance = np.linalg.norm(vectors("cat!", [1], pool) - vectors("dog?", [1], pool))
    item = Item(None, "cat!", ("dog?",))
    for name, expected in (("euclidean", 1 - distance), ("squared", 1 - distance**2)):
        value = registry.load_metric(f"moverscore|idf:no|pool:{pool}|distance:{name}").score([item], no_progress)[0]
        assert value.value == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("kind", ["own", "references"])
def test_words_weigh_by_their_idf(kind: str) -> None:
    """All words go to the one word of the reference; ln((N + 1) / (c + 1)) where c of N texts have the token."""
    items = [Item(None, o, (r,)) for o, r in (("the red dog", "cat"), ("the house", "dog"), ("a dog", "the red dog"))]
    texts = [i.hypothesis if kind == "own" else i.references[0] for i in items]
    known = [set(load_encoder().read(text).ids) for text in texts]
    places, ids = first_pieces("the red dog"), load_encoder().read("the red dog").ids
    weights = np.array([math.log(4 / (sum(ids[i] in text for text in known) + 1)) for i in places])
    squares = ((vectors("the red dog", places, "pmeans") - vectors("cat", [1], "pmeans")) ** 2).sum(axis=1)
    metric = registry.load_metric("moverscore" if kind == "own" else f"moverscore|idf:{kind}")
    value = metric.for_outputs(all_outputs(items)).score(items[:1], no_progress)[0]
    assert value.value == pytest.approx(1 - squares @ weights / weights.sum(), abs=1e-5)


def test_a_copy_is_perfect_with_reference_weights_on_both_sides() -> None:
    items = [Item("a", "the cat sat", ("the cat sat",)), Item("b", "a dog", ("the dog ran home",))]
    own, shared = (registry.load_metric(f"moverscore|idf:{kind}") for kind in ("own", "references"))
    assert own.fit is not None
    assert shared.fit is not None
    assert shared.for_outputs(all_outputs(items)).score(items, no_progress)[0].value == pytest.approx(1)
    assert own.for_outputs(all_outputs(items)).signature() != shared.for_outputs(all_outputs(items)).signature()
    with pytest.raises(TypeError, match="Metric.for_outputs"):
        own.score(items, no_progress)


def test_texts_without_a_word_have_no_score_but_a_reason() -> None:
    metric = registry.load_metric("moverscore|idf:no")
    items = [Item(None, "", ("the cat",)), Item(None, "...", ("the cat",)), Item(None, "the cat", ("!", ""))]
    assert [(v.value, v.status) for v in metric.score(items, no_progress)] == [(None, "undefined")] * 3
    lone = Item(None, "the dog", ("!", "the dog"))
    value = metric.score([lone], no_progress)[0]
    assert (value.value, value.parts["condition"]) == (pytest.approx(1), 1)


def test_a_character_is_a_word_in_scripts_without_spaces() -> None:
    # The tokenizer calls 北京 one word, and cuts each character into three bytes; of " running" the first piece counts.
    text, places = "北京 running", [1, 4, 7]
    distances = np.linalg.norm(vectors(text, places) - vectors("cat", [1]), axis=1)
    metric = registry.load_metric("moverscore|idf:no|pool:mean|distance:euclidean")
    assert first_pieces(text) == [1, 7]
    value = metric.score([Item(None, text, ("cat",))], no_progress)[0].value
    assert value == pytest.approx(1 - distances.mean(), abs=1e-5)


def test_the_signature_says_where_characters_are_words() -> None:
    spaced, unspaced = Item(None, "a cat", ("the cat",)), Item(None, "北京", ("北京市",))
    for name in ("moverscore", "moverscore|idf:no"):
        metric = registry.load_metric(name)
        assert "|words:" not in metric.for_outputs(all_outputs([spaced])).signature()
        assert "|words:characters|" in metric.for_outputs(all_outputs([spaced, unspaced])).signature()


FIRST, SECOND, OTHER = "The cat sat on the mat.", "It slept.", "A dog ran away."


def score(output: str, *references: str, expression: str = "sms") -> Value:
    return registry.load_metric(expression).score([Item(None, output, references)], no_progress)[0]


def distance(first: str, second: str) -> float:
    return float(np.linalg.norm(np.subtract(*load_encoder().sentences([first, second]).astype(np.float64))))


def test_one_sentence_per_side_gives_exp_of_minus_distance() -> None:
    assert score(FIRST, OTHER).value == pytest.approx(np.exp(-distance(FIRST, OTHER)), abs=1e-5)


def test_sentences_weigh_as_many_words_as_they_have() -> None:
    # Output of 6 + 2 words, reference of 4: all of it is carried to the one sentence there is, 6/8 and 2/8 of it.
    cost = 6 / 8 * distance(FIRST, OTHER) + 2 / 8 * distance(SECOND, OTHER)
    assert score(f"{FIRST} {SECOND}", OTHER).value == pytest.approx(np.exp(-cost), abs=1e-5)


def test_sentence_order_is_ignored_and_a_copy_is_perfect() -> None:
    assert score(f"{FIRST} {SECOND}", f"{SECOND} {FIRST}").value == pytest.approx(1, abs=1e-9)
    for units in ("sentences", "words", "both"):
        assert score(f"{FIRST} {SECOND}", f"{FIRST} {SECOND}", expression=f"sms|units:{units}").value == pytest.approx(
            1
        )


def test_words_average_tokens_and_units_share_the_weight() -> None:
    # “unbelievable” and “house” are one word each: WMS carries one word, S+WMS the sentence and the word, half the weight each
    # way; neither sentence nor word can stay, so its cost lies at or below the mean of the two.
    def word(text: str) -> np.ndarray:
        mean = load_encoder().tokens([text], [6])[0].states[0][1:-1].mean(axis=0).astype(np.float64)
        return mean / np.linalg.norm(mean)

    far = float(np.linalg.norm(word("unbelievable") - word("house")))
    assert score("unbelievable", "house", expression="sms|units:words").value == pytest.approx(np.exp(-far), abs=1e-5)
    both = score("unbelievable", "house", expression="sms|units:both").value
    assert both is not None
    assert both >= np.exp(-(far + distance("unbelievable", "house")) / 2) - 1e-5


def test_the_splitter_is_an_option() -> None:
    text = "Stop!Go on. 好。吃"
    assert score(text, FIRST).value != score(text, FIRST, expression="sms|sentences:point").value


def test_the_best_reference_counts_and_empty_texts_are_undefined() -> None:
    best = score(FIRST, OTHER, "", FIRST)
    assert (best.value, best.parts["condition"]) == (pytest.approx(1), 2)
    assert score("", FIRST).status == score(FIRST, " ").status == "undefined"
    assert score("😀", "!!!").value is not None
