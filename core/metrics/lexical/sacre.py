"""chrF, BLEU and TER per segment, computed by sacreBLEU (Post 2018), with the fields of its signature."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from core.data import Item, Value
from core.errors import UserError
from core.metrics.base import Metric, MetricSpec, Option, Values, family
from core.progress import Progress
from core.signature import GIVEN, package, signature
from core.text.scripts import Writing, tokens_by, writing

HELD = 16
"""Reference sets kept tokenized, since outputs of a segment often follow each other."""

References = list[list[str]]


SCRIPT, MECAB = "script", "ja-mecab"
BLEU_WORDS: dict[Writing, str] = {"spaced": "13a", "han": "zh", "unspaced": "char"}
TER_WORDS: dict[Writing, str] = {"spaced": "tercom", "han": "zh-tercom", "unspaced": "char-tercom"}
"""Names of sacreBLEU's tokenizers in signatures, by script of the references."""


def _metric(
    spec: MetricSpec,
    build: Callable[[Values, References, Writing], Any],
    facts: Callable[[Values], dict[str, object]],
    words: Callable[[Values], dict[Writing, str] | None] = lambda values: None,
) -> Metric:
    """Return the metric. `words(values)` gives the tokenizer per script, or None if the script does not matter."""

    def make(values: Values) -> Metric:
        chosen = words(values)

        def signed(items: Sequence[Item]) -> str:
            given = facts(values)
            if chosen:
                given |= {"tok": tokens_by(chosen, [item.references for item in items if item.references])}
            whole = {"v": spec.version, **given, "level": "segment", "sacrebleu": package("sacrebleu")}
            return signature(spec.name, whole)

        def score(items: Sequence[Item], progress: Progress) -> list[Value]:
            @lru_cache(HELD)
            def against(references: tuple[str, ...]) -> Any:
                return build(values, [[reference] for reference in references], writing(references))

            out = []
            for done, item in enumerate(items):
                progress(done / len(items))
                out.append(Value(float(against(item.references).corpus_score([item.hypothesis], None).score)))
            return out

        return Metric(spec, lambda: signed(()), score, signature_for=signed if chosen else None)

    return family(spec, make)


BETA = 2  # sacreBLEU omits β from its signature; here other values are part of it


def _chrf(values: Values, references: References, _: Writing) -> Any:
    from sacrebleu.metrics.chrf import CHRF

    return CHRF(beta=values["beta"], word_order=values["word_order"], references=references)


def _chrf_facts(values: Values) -> dict[str, object]:
    beta = {} if values["beta"] == BETA else {"beta": values["beta"]}
    return {"nrefs": "var", "case": "mixed", "eff": True, "nc": 6, "nw": values["word_order"], "space": False, **beta}


def bleu(tokenize: str, how: Writing, references: References | None = None) -> Any:
    """Return sacreBLEU's sentence BLEU with a tokenizer, or with one by script. Raises UserError if MeCab is missing."""
    from sacrebleu.metrics.bleu import BLEU

    if tokenize == SCRIPT:
        tokenize = BLEU_WORDS[how]
    try:
        made = BLEU(effective_order=True, tokenize=tokenize, references=references)
    except RuntimeError as error:
        if tokenize != MECAB:
            raise
        hint = "Run pip install 'sacrebleu[ja]', or omit the option: each Japanese character is then a word"
        raise UserError("MeCab is not installed", where=f"option tokenize:{MECAB} of bleu", hint=hint) from error
    if tokenize == "13a":
        made.tokenizer = words_13a
    return made


_STEPS_13A = (
    (re.compile(r"([{-~\[-`!-&(-+:-@/])"), r" \1 "),
    (re.compile(r"([^0-9])([.,])"), r"\1 \2 "),
    (re.compile(r"([.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),
)


def words_13a(text: str) -> str:
    """Return a text as sacreBLEU's tokenizer 13a does, which also puts spaces around spaces and keeps 131,072 texts in memory."""
    text = text.replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    if "&" in text:
        text = text.replace("&quot;", '"').replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">")
    text = f" {text} "
    for pattern, spaced in _STEPS_13A:
        text = pattern.sub(spaced, text)
    return " ".join(text.split())


def _bleu_facts(values: Values) -> dict[str, object]:
    tok = values["tokenize"]
    return {
        "nrefs": "var",
        "case": "mixed",
        "eff": True,
        "tok": f"13a{GIVEN}" if tok == "13a" else tok,
        "smooth": "exp",
    }


class _Ter:
    """sacreBLEU's TER; texts in scripts without spaces are first split into words by its BLEU tokenizer."""

    def __init__(self, how: Writing, references: References) -> None:
        from sacrebleu.metrics.ter import TER

        cut = None if how == "spaced" else bleu(SCRIPT, how).tokenizer
        self._cut: Callable[[str], str] = cut or str
        self._own = TER(references=[[self._cut(text) for text in stream] for stream in references])

    def corpus_score(self, outputs: Sequence[str], _: None) -> Any:
        return self._own.corpus_score([self._cut(text) for text in outputs], None)


def _ter_facts(values: Values) -> dict[str, object]:
    return {"nrefs": "var", "case": "lc", "tok": "tercom", "norm": False, "punct": True, "asian": False}


CHRF = _metric(
    MetricSpec(
        name="chrf",
        label="chrF",
        paper="Popović 2015",
        help="Character n-gram overlap with the reference (F2). Less strict about inflected forms than word-based metrics. With several references, the best one counts.",
        range=(0, 100),
        needs=frozenset({"reference"}),
        options=(
            Option("beta", "whole", BETA, "weight of recall relative to precision in F", "β", "β = {}", low=1, high=10),
            Option(
                "word_order", "whole", 0, "longest word n-grams counted in addition to characters; 2 gives chrF++", "Word order",
                "word order {}", low=0, high=6,
            ),
        ),
    ),
    _chrf,
    _chrf_facts,
)  # fmt: skip

BLEU = _metric(
    MetricSpec(
        name="bleu",
        label="BLEU",
        paper="Papineni et al. 2002",
        help="Word n-gram precision with brevity penalty, per segment (effective order, exponential smoothing). Widely reported, but a weak guide for single sentences.",
        range=(0, 100),
        needs=frozenset({"reference"}),
        options=(
            Option(
                "tokenize", "choice", SCRIPT, "sacreBLEU tokenizer: by the script of the references (zh for Chinese, char for other scripts "
                "without spaces, else 13a), or the same for all texts; ja-mecab needs sacrebleu[ja]",
                "Tokenizer", "words by {}", choices=(SCRIPT, "13a", "intl", "zh", MECAB, "char", "none"),
            ),
        ),
    ),
    lambda values, references, how: bleu(values["tokenize"], how, references),
    _bleu_facts,
    lambda values: BLEU_WORDS if values["tokenize"] == SCRIPT else None,
)  # fmt: skip

TER = _metric(
    MetricSpec(
        name="ter",
        label="TER",
        paper="Snover et al. 2006",
        help="Number of word edits and shifts that turn the output into the reference, per 100 reference words: an estimate of post-editing effort. May exceed 100.",
        range=(0, float("inf")),
        higher_is_better=False,
        needs=frozenset({"reference"}),
    ),
    lambda values, references, how: _Ter(how, references),
    _ter_facts,
    lambda values: TER_WORDS,
)
