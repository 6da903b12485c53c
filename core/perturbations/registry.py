"""All perturbations and noises. To add one, write its rule in a module of its family and declare it here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from core.english.certain_words import is_full_verb, is_noun
from core.errors import unknown
from core.perturbations import (
    agreement,
    any_script,
    content,
    diverge,
    mismatch,
    names,
    negation,
    numbers,
    removal,
    sentences,
    special,
)
from core.perturbations.base import Noise, NoiseLevel, Perturbation, T


def _shares(*shares: float) -> tuple[NoiseLevel, ...]:
    return tuple(NoiseLevel(share, f"{share:.0%}") for share in shares)


FIFTHS = _shares(0.2, 0.4, 0.6, 0.8, 1.0)
"""For noises that affect few words per text: with shares below 20 %, two levels would often change the same single word."""
TENTHS = _shares(0.1, 0.2, 0.3, 0.4, 0.5)
"""For noises that can affect every word."""
QUARTERS = _shares(0.25, 0.5, 0.75, 1.0)
"""For units of which a text has few."""


def _numbered(*labels: str) -> tuple[NoiseLevel, ...]:
    return tuple(NoiseLevel(number, label) for number, label in enumerate(labels, start=1))


# fmt: off
PERTURBATIONS: dict[str, Perturbation] = {one.name: one for one in (
    Perturbation("addition", "Addition", "adequacy", "Joins a noun to an existing noun with “and”",
        content.add_noun, "no noun to which another can be joined with certainty", version=4),
    Perturbation("omission", "Omission", "adequacy",
        "Deletes a clause, phrase or modifier: at most 40 % of the words, leaving a grammatical sentence", content.omit, version=4),
    Perturbation("name", "Name error", "adequacy",
        "One name of a person, country, city or organisation becomes another of its kind at every mention",
        names.rename, "no name of a known kind, alone or after a first name or title", version=3),
    Perturbation("negation", "Negation", "adequacy",
        "Negates one verb of a main clause, or removes its negation; never adds a second negation",
        negation.negate_one, "no verb can be negated, or lose its negation, with certainty", version=4),
    Perturbation("number", "Number error", "adequacy",
        "Every number outside dates becomes another of the same form; if there are only years, one of them changes",
        numbers.change_numbers, version=3),
    Perturbation("pronoun", "Pronoun error", "adequacy",
        "Every personal pronoun except you and it becomes another of the same case, and the verb agrees with it",
        agreement.change_pronouns, version=5),
    Perturbation("adjective", "Mismatch, adjective", "adequacy",
        "One adjective becomes another of the same degree: its antonym if one is known",
        partial(mismatch.replace_one, mismatch.adjectives), "no adjective can be replaced with certainty", version=3),
    Perturbation("noun", "Mismatch, noun", "adequacy",
        "One noun becomes another of the same number and kind: its antonym if one is known",
        partial(mismatch.replace_one, mismatch.nouns), "no common noun can be replaced with certainty", version=4),
    Perturbation("verb", "Mismatch, verb", "adequacy",
        "One verb becomes another of the same form and frame: its antonym if one is known",
        partial(mismatch.replace_one, mismatch.verbs), "no verb can be replaced by another of the same frame", version=4),
    Perturbation("typo", "Spelling error", "fluency", "Swaps two neighbouring letters of one word",
        any_script.swap_letters, version=2, english=False),
    Perturbation("jumble", "Jumbled word order", "fluency", "Shuffles all words; punctuation stays in place",
        any_script.jumble, version=3, english=False),
    Perturbation("agreement", "Subject–verb disagreement", "fluency",
        "Every form of be, have and do (or one full verb if there is none) disagrees with its subject in number",
        agreement.disagree, "no verb certainly agrees with a subject in number", version=4),
    Perturbation("added-fact", "Added fact", "adequacy", "Adds a circumstance that the original does not state",
        content.add_fact, version=2),
)}
MENLI: tuple[str, ...] = tuple(PERTURBATIONS)[:12]
"""The twelve phenomena of the published adversarial suite."""

_POSITIONS = (f"at the start, in the middle or at the end: {special.SPAN} consecutive tokens, or the whole text if it has fewer. "
    f"Texts of fewer than {special.SHORTEST} tokens are refused.")
_N_GRAMS = ("from the most frequent ones, up to the same number of tokens. They are counted on the texts of this test, without punctuation and "
    "in lower case; with few texts, some of the top 100 occur only once.")
_TOP = tuple(NoiseLevel(k, f"top-{k}") for k in (10, 50, 100))

NOISES: dict[str, Noise] = {one.name: one for one in (
    Noise("truncation", "Truncation", "fluency",
        "Deletes a share of the tokens at the end; final punctuation stays. Removes content as well as fluency",
        any_script.truncate, TENTHS, seeded=False, version=2),
    Noise("article-removal", "Article removal", "fluency", "Deletes a share of the articles (the, a, an). English only",
        partial(removal.remove, removal.articles), FIFTHS, "no article in the text", english=True, version=4),
    Noise("preposition-removal", "Preposition removal", "fluency",
        "Deletes a share of the prepositions; the “to” of an infinitive stays. English only",
        partial(removal.remove, removal.prepositions), FIFTHS, "no preposition in the text", english=True, version=4),
    Noise("stopword-removal", "Stop-word removal", "fluency",
        "Deletes a share of the stop words: articles, pronouns, prepositions, conjunctions, all uses of have, do and be, modals, not. English only",
        partial(removal.remove, removal.stop_words), FIFTHS, "no stop word in the text", english=True, version=5),
    Noise("verb-lemmatization", "Verb lemmatization", "fluency",
        "Replaces a share of the inflected verbs, including auxiliaries, with their dictionary form. English only",
        mismatch.lemmatize, FIFTHS, "no inflected verb in the text", english=True, version=4),
    Noise("token-drop", "Token drop", "fluency", "Deletes a share of the words at random positions",
        any_script.drop_words, TENTHS, version=2),
    Noise("repeated-token", "Repeated token", "fluency", "Repeats a share of the words right after themselves",
        any_script.repeat_words, TENTHS, "no word in the text", version=2),
    Noise("local-swap", "Local swap", "fluency",
        "Swaps words with their right neighbour, each word at most once: a share of the disjoint pairs",
        any_script.swap_neighbours, FIFTHS, "no two different neighbouring words", switching=True, version=3),
    Noise("middle-swap", "Middle swap", "fluency",
        "Swaps the left and right half of a share of the sentences; all levels are equal for a text of one sentence",
        any_script.swap_halves, FIFTHS, "no sentence that can be cut between two words", switching=True, version=3),
    Noise("noised-punctuation", "Changed punctuation", "fluency",
        "Replaces a share of the signs , . ? ! : with another: commas and full stops with each other, the rest with any",
        any_script.change_punctuation, FIFTHS, "no , . ? ! or : in the text"),
    Noise("sentence-switching", "Sentence switching", "consistency",
        "Swaps random pairs of sentences; the white space between sentences stays. Strength: the share of all possible pairs",
        sentences.switch_sentences, QUARTERS, "fewer than two different sentences", switching=True, version=2),
    Noise("sentence-replacement", "Sentence replacement", "consistency",
        "Replaces random sentences with random sentences of other texts of the set. Strength: the share of the sentences",
        sentences.replace_sentences, QUARTERS, needs=frozenset({"others"}), version=2),
    Noise("negated-sentences", "Negation", "consistency",
        "Negates random sentences, each at one verb of a main clause; a negative sentence loses its negation instead. "
        "Strength: the share of all sentences, including those that cannot be negated",
        negation.negate_share, QUARTERS, "no finite verb can be negated", english=True, version=5),
    Noise("generic-entity", "Generic named entity", "consistency",
        "Replaces random names, with their articles and titles, by “a person”, “a place” or “an organisation”. Names of uncertain kind "
        "stay. Strength: the share of the names whose kind is certain",
        names.make_generic, QUARTERS, "no name can be replaced by a generic phrase", english=True, version=4),
    Noise("entity-switching", "Named entity switching", "consistency",
        "Swaps random pairs of different names of the same certain kind: persons, places or organisations. Strength: the share of all "
        "possible pairs",
        names.switch_names, QUARTERS, "fewer than two different names of the same certain kind", english=True, switching=True, version=4),
    Noise("verb-switching", "Verb switching", "consistency",
        "Swaps random pairs of different full verbs of the same form; auxiliaries stay. Strength: the share of all possible pairs",
        partial(mismatch.switch, is_full_verb, "VERB"), FIFTHS, "fewer than two different full verbs of one form",
        english=True, switching=True, version=4),
    Noise("noun-switching", "Noun switching", "consistency",
        "Swaps random pairs of different common nouns, of the same number if possible. Strength: the share of all possible pairs",
        partial(mismatch.switch, is_noun, "NOUN"), FIFTHS, "fewer than two different common nouns",
        english=True, switching=True, version=4),
    Noise("diverge", "BERT-diverge", "consistency",
        "Replaces words one by one, in random order, with one of the ten most likely words of a language model, so that the text stays "
        "fluent but its meaning drifts. Uses the masked language model (mlm) if configured, else the scorer: English only, and less fluent.",
        diverge.diverge, TENTHS, "the model proposes no other word at any place", model=diverge.model),
    Noise("positioned-random", "Random tokens at one position", "special",
        f"Replaces tokens with random words of all these texts {_POSITIONS}",
        partial(special.corrupt, "random"), _numbered("start", "middle", "end"), graded=False, needs=frozenset({"others"})),
    Noise("positioned-shuffle", "Shuffled tokens at one position", "special", f"Shuffles tokens {_POSITIONS}",
        partial(special.corrupt, "shuffle"), _numbered("start", "middle", "end"), graded=False),
    Noise("injection", "Injection", "special",
        "Replaces the whole output with a sentence that tells the metric to approve of it. The last level appends another "
        "text of the set, the same one for every seed.",
        partial(special.inject, special.TEXTS),
        _numbered(*(f"Inj-{i + 1}" for i in range(len(special.TEXTS))), "Inj-1 + another text"),
        graded=False, seeded=False, needs=frozenset({"others"})),
    *(Noise(f"frequent-{n}gram", f"Frequent {n}-grams", "special", f"Replaces the output with random {n}-grams {_N_GRAMS}",
        partial(special.frequent, n), _TOP, graded=False, needs=frozenset({"others"})) for n in (4, 3)),
    Noise("repetition", "Repetition", "special",
        f"Repeats the last {special.REPEATED} tokens, including punctuation, 10, 20 or 30 times.",
        special.repeat_ending, tuple(NoiseLevel(k, f"Rep-{k}") for k in (10, 20, 30)), graded=False, seeded=False),
    Noise("copy-source", "Copy of the source", "special", "Replaces the output with the unchanged source text.",
        special.copy_source, _numbered("copy"), graded=False, seeded=False, needs=frozenset({"source"})),
)}
# fmt: on
NOISE_TYPES: tuple[str, ...] = tuple(NOISES)[:18]
"""The 18 types of Table 16, fluency first."""


def _declared(what: str, name: str, table: Mapping[str, T]) -> T:
    if name not in table:
        raise unknown(what, name, table)
    return table[name]


def load_perturbation(name: str) -> Perturbation:
    """Return the perturbation of this name. Raises UserError for an unknown name."""
    return _declared("perturbation", name, PERTURBATIONS)


def noise(name: str) -> Noise:
    """Return the noise of this name. Raises UserError for an unknown name."""
    return _declared("noise", name, NOISES)


def chosen(perturbations: Iterable[str] = PERTURBATIONS) -> list[Perturbation]:
    """Return the perturbations of these names in order, without duplicates; all by default. Raises UserError."""
    return [load_perturbation(name) for name in dict.fromkeys(perturbations)]


def noises(noise_names: Iterable[str] = NOISES) -> list[Noise]:
    """Return the noises of these names in order, without duplicates; all by default. Raises UserError."""
    return [noise(name) for name in dict.fromkeys(noise_names)]
