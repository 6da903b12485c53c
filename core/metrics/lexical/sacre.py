"""chrF, BLEU and TER per segment, as computed by sacreBLEU (Post 2018), with the fields of its signature."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from core.data import Item, Value
from core.errors import UserError
from core.metrics.base import Metric, MetricSpec, Option, Values, family
from core.metrics.lexical.ter import TerReference
from core.progress import Progress
from core.signature import GIVEN, package
from core.text.languages import Writing, tokens_by, writing

HELD = 16
"""Reference sets kept tokenized, since outputs of a segment follow each other (`core.scoring.dataset`)."""

References = Sequence[str]
Scored = Callable[[str], float]
"""Returns the score of an output, compared with references that are read already."""


SCRIPT, MECAB = "script", "ja-mecab"
BLEU_WORDS: dict[Writing, str] = {"spaced": "13a", "han": "zh", "unspaced": "char"}
TER_WORDS: dict[Writing, str] = {"spaced": "tercom", "han": "zh-tercom", "unspaced": "char-tercom"}
"""Names of sacreBLEU's tokenizers in signatures, by script of the references."""


def _metric(
    spec: MetricSpec,
    build: Callable[[Values, References, Writing], Scored],
    facts: Callable[[Values], dict[str, object]],
    words: Callable[[Values], dict[Writing, str] | None] = lambda values: None,
) -> Metric:
    """Return the metric. `words(values)` gives the tokenizer per script, or None if the script does not matter."""

    def make(values: Values) -> Metric:
        chosen = words(values)

        def signed(items: Sequence[Item]) -> str:
            option_facts = facts(values)
            if chosen:
                option_facts |= {"tok": tokens_by(chosen, [item.references for item in items if item.references])}
            return spec.signed(option_facts | {"level": "segment", "sacrebleu": package("sacrebleu")})

        def score(items: Sequence[Item], progress: Progress) -> list[Value]:
            @lru_cache(HELD)
            def against(references: tuple[str, ...]) -> Scored:
                return build(values, references, writing(references))

            out = []
            for done, item in enumerate(items):
                progress(done / len(items))
                out.append(Value(against(item.references)(item.hypothesis)))
            return out

        return Metric(spec, lambda: signed(()), score, signature_for=signed if chosen else None)

    return family(spec, make)


BETA = 2  # sacreBLEU omits β from its signature; here other values are part of it


def _chrf(values: Values, references: References, _: Writing) -> Scored:
    from sacrebleu.metrics.chrf import CHRF

    return _scored(CHRF(beta=values["beta"], word_order=values["word_order"], references=_streams(references)))


def _streams(references: References) -> list[list[str]]:
    """Return the references of one segment as sacreBLEU takes them: one list per reference, with one text per segment."""
    return [[reference] for reference in references]


def _scored(metric: Any) -> Scored:
    return lambda output: float(metric.corpus_score([output], None).score)


def _chrf_facts(values: Values) -> dict[str, object]:
    beta = {} if values["beta"] == BETA else {"beta": values["beta"]}
    return {"nrefs": "var", "case": "mixed", "eff": True, "nc": 6, "nw": values["word_order"], "space": False, **beta}


def bleu(tokenize: str, how: Writing, references: References = ()) -> Any:
    """Return sacreBLEU's sentence BLEU with a tokenizer, or with one by script. Raises UserError if MeCab is missing."""
    from sacrebleu.metrics.bleu import BLEU

    if tokenize == SCRIPT:
        tokenize = BLEU_WORDS[how]
    try:
        made = BLEU(effective_order=True, tokenize=tokenize, references=_streams(references) or None)
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


def _ter(references: References, how: Writing) -> Scored:
    """Return TER against references. Texts in scripts without spaces are first split into words by sacreBLEU's tokenizer for BLEU."""
    cut: Callable[[str], str] = str if how == "spaced" else bleu(SCRIPT, how).tokenizer

    def words(text: str) -> list[str]:
        return cut(text).lower().split()

    compared = [TerReference(words(text)) for text in references]
    length = sum(map(len, compared)) / len(compared)

    def score(output: str) -> float:
        output_words = words(output)
        edits = min(reference.edits(output_words) for reference in compared)
        return 100 * (edits / length if length else float(edits > 0))

    return score


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
    lambda values, references, how: _scored(bleu(values["tokenize"], how, references)),
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
    lambda values, references, how: _ter(references, how),
    _ter_facts,
    lambda values: TER_WORDS,
)
