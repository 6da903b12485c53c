"""lemminflect's dictionaries, kept as text, answer as its own do, for every word."""

import sys

from lemminflect import config
from lemminflect.codecs.InflectionLUCodec import InflectionLUCodec
from lemminflect.codecs.LemmaLUCodec import LemmaLUCodec

from core.english.dictionary import dictionary


def test_every_word_has_the_lemmas_and_inflections_of_the_package() -> None:
    module = dictionary()
    pairs = (
        (module.Lemmatizer()._getLemmaDict(), LemmaLUCodec.load(config.lemma_lu_fn)),
        (module.Inflections()._getInflDict(), InflectionLUCodec.load(config.inflection_lu_fn)),
    )
    for kept, loaded in pairs:
        assert len(loaded) > 30_000
        assert {word: kept.get(word, {}) for word in loaded} == loaded
        assert kept.get("zzzq", {}) == kept.get("", {}) == kept.get("über", {}) == kept.get("\ud800", {}) == {}


def test_the_package_uses_the_kept_dictionaries() -> None:
    module = dictionary()
    assert module.getAllLemmas("Leaves") == {"NOUN": ("Leave", "Leaf"), "VERB": ("Leave",)}
    assert module.getInflection("be", "VBP", inflect_oov=False) == ("am", "are")
    assert (
        sum(map(sys.getsizeof, (module.Lemmatizer().lemma_dict._text, module.Inflections().infl_dict._text))) < 3 << 20
    )
