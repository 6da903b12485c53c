"""Lookups in the kept text return what lemminflect's own dictionaries return."""

import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from threading import Barrier

import pytest

from core.english.dictionary import WordTable, _kept, dictionary, without


@pytest.mark.extended
def test_every_word_has_the_lemmas_and_inflections_of_the_package() -> None:
    module = dictionary()  # before the package is imported, so that it does not load spaCy
    from lemminflect import config
    from lemminflect.codecs.InflectionLUCodec import InflectionLUCodec
    from lemminflect.codecs.LemmaLUCodec import LemmaLUCodec

    pairs = (
        (module.Lemmatizer().lemma_dict, LemmaLUCodec.load(config.lemma_lu_fn)),
        (module.Inflections().infl_dict, InflectionLUCodec.load(config.inflection_lu_fn)),
    )
    for kept, loaded in pairs:
        assert len(loaded) > 30_000
        assert {word: kept.get(word, {}) for word in loaded} == loaded
        assert kept.get("zzzq", {}) == kept.get("", {}) == kept.get("über", {}) == kept.get("\ud800", {}) == {}


def test_the_package_uses_the_kept_text() -> None:
    module = dictionary()
    assert module.getAllLemmas("Leaves") == {"NOUN": ("Leave", "Leaf"), "VERB": ("Leave",)}
    assert module.getInflection("be", "VBP", inflect_oov=False) == ("am", "are")
    tables = (module.Lemmatizer().lemma_dict, module.Inflections().infl_dict)
    assert sum(sys.getsizeof(value) for table in tables for value in vars(table).values()) < 4 << 20


def test_two_threads_read_the_files_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read, both = list[str](), Barrier(2)
    init = WordTable.__init__
    monkeypatch.setattr(
        WordTable, "__init__", lambda self, path, *rest: (read.append(path), init(self, path, *rest))[1]
    )
    for function in (dictionary, _kept):
        function.cache_clear()
    with ThreadPoolExecutor(2) as pool:
        modules = list(pool.map(lambda _: (both.wait(), dictionary())[1], range(2)))
    assert modules[0] is modules[1]
    assert len(read) == 2


def test_a_package_is_hidden_from_the_thread_that_asks_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    with without("colorsys"), ThreadPoolExecutor(1) as pool:
        with pytest.raises(ModuleNotFoundError, match="colorsys is not needed here"):
            import_module("colorsys")
        assert pool.submit(import_module, "colorsys").result().__name__ == "colorsys"
    assert not [finder for finder in sys.meta_path if type(finder).__name__ == "_Hidden"]
