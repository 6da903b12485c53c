"""Advice for metrics that fail a stress test, after He et al. (2023), by test and by metric."""

from __future__ import annotations

from collections.abc import Mapping

_BOTH = "Report precision, recall and F side by side, or an F that weighs recall above precision (section 5.5.2)."
_COMPANY = (
    "Report it together with a metric of another kind that passes this test: metrics complement each other (section 8)."
)

TESTS: Mapping[str, str] = {
    "truncation": f"Text that was cut off can score higher where precision gains more than recall loses. {_BOTH}",
    "article-removal": f"Missing articles go unnoticed here (appendix I). {_COMPANY}",
    "preposition-removal": f"Missing prepositions go unnoticed here (appendix I). {_COMPANY}",
    "stopword-removal": f"Missing function words go unnoticed here (appendix I). {_COMPANY}",
    "verb-lemmatization": f"Wrong verb forms go unnoticed here (appendix I). {_COMPANY}",
    "token-drop": f"Missing words go unnoticed here. {_BOTH}",
    "repeated-token": f"Repeated words go unnoticed here. Add a measure of repetition, such as the share of n-grams that occur twice (appendix E). {_COMPANY}",
    "local-swap": f"Neighbouring words in the wrong order go unnoticed here. {_COMPANY}",
    "middle-swap": f"Halves of sentences in the wrong order go unnoticed here. {_COMPANY}",
    "noised-punctuation": f"Wrong punctuation goes unnoticed here (appendix I); many metrics drop it before they compare. {_COMPANY}",
    "sentence-switching": "The order of sentences goes unnoticed here. Add a metric of fluency or coherence that reads the whole text, such as the perplexity of a language model (section 5.5.2).",
    "sentence-replacement": f"Sentences from another text go unnoticed here. {_COMPANY}",
    "negated-sentences": f"Statements turned into their opposite go unnoticed here. {_COMPANY}",
    "generic-entity": f"Names replaced by general phrases, which lose information, go unnoticed here. {_COMPANY}",
    "entity-switching": f"Facts with exchanged names go unnoticed here. {_COMPANY}",
    "verb-switching": f"Exchanged verbs go unnoticed here. {_COMPANY}",
    "noun-switching": f"Exchanged nouns go unnoticed here. {_COMPANY}",
    "diverge": f"Text that drifts away from its meaning, word by word, goes unnoticed here (appendix I, Table 17). {_COMPANY}",
    "positioned-random": "Errors in one place of the text weigh less than in another. Use a model that attends to the whole text, a masked or discriminative one rather than one that reads left to right (section 5.1).",
    "positioned-shuffle": "Disorder in one place of the text weighs less than in another. Use a model that attends to the whole text, a masked or discriminative one rather than one that reads left to right (section 5.1).",
    "injection": "A sentence without content is scored like a good output. Compare with a metric of word overlap: if it is low and this one is high, read the output (section 5.2).",
    "frequent-4gram": "A sequence of frequent phrases scores like good text. Also report a measure of diversity, such as the share of repeated 4-grams (section 5.3).",
    "frequent-3gram": "A sequence of frequent phrases scores like good text. Also report a measure of diversity, such as the share of repeated n-grams (section 5.3, appendix G).",
    "repetition": "A text with a repeated ending scores like good text. Also report a measure of diversity, such as the share of repeated 4-grams or n-gram entropy (appendix E).",
    "copy-source": "A copy of the source scores like a good output. Reject outputs that are too similar to their source; in summarization check the length as well, in translation the language (appendix D).",
}  # fmt: skip

_RECALL = "In He et al. (2023), BARTScore’s recall noticed truncated text, its precision and faithfulness did not: report recall as well (appendix I)."
_QE = "In He et al. (2023), its variants without references failed this: use references if you have them (Table 1)."
_LENGTH = "A mean over words ignores length"
_FLUENCY = "BARTScore’s recall failed several fluency tests in He et al. (2023), those of function words among them: do not use it alone (appendix I)."

_FOUND: tuple[tuple[tuple[str, ...], tuple[str, ...], str], ...] = (
    (("truncation",), ("rouge2", "rougeL"), "He et al. (2023) found ROUGE-2 and ROUGE-L, as F, to fail this on news summaries: show their precision and recall (appendix I)."),
    (("truncation",), ("bertscore",), "He et al. (2023) found BERTScore’s precision and F to fail this, its recall not: show all three (section 5.5.2, Figure 5)."),
    (("truncation",), ("bartscore", "bartscore-p", "bartscore-faithfulness"), _RECALL),
    (("truncation",), ("comet-qe", "prism-src"), _QE),
    (("truncation",), ("unieval",), "Its overall score failed this in He et al. (2023): report its aspects one by one (Table 1)."),
    (("truncation",), ("gpt-ppl", "mlm-ppl"), "In He et al. (2023), perplexity changed very little when text was missing: add a metric that compares with a reference (appendix I)."),
    (("sentence-switching",), ("rouge2",), "ROUGE-2 hardly sees order beyond two words (appendix I)."),
    (("sentence-switching",), ("bartscore-r",), "BARTScore’s recall failed this in He et al. (2023): report it with the other variants, never alone (appendix I)."),
    (("noised-punctuation",), ("rouge1",), "ROUGE ignores punctuation."),
    (("noised-punctuation",), ("rouge2", "rougeL"), "ROUGE ignores punctuation; ROUGE-2 and ROUGE-L failed this in He et al. (2023) (appendix I)."),
    (("article-removal", "preposition-removal", "stopword-removal", "noised-punctuation"), ("bartscore-r",), _FLUENCY),
    (("article-removal",), ("comet-qe",), "In He et al. (2023), COMET without references failed this on summaries; with references it did better (appendix I)."),
    (("diverge",), ("comet-qe",), "COMET without references failed this in He et al. (2023): use references (appendix I, Table 17)."),
    (("injection",), ("unieval",), "The text can answer the question that this metric asks its model (section 5.2)."),
    (("repetition",), ("bartscore", "bartscore-p", "bartscore-r", "bartscore-faithfulness"), "In He et al. (2023), repetition raised the scores of all variants of BARTScore (appendix E, Table 13)."),
    (("copy-source",), ("bartscore", "bartscore-faithfulness"), f"{_LENGTH}; a sum would favour short texts instead (appendix D)."),
    (("copy-source",), ("bartscore-r",), f"{_LENGTH}, and recall does not penalise extra text (appendix D)."),
    (("copy-source",), ("bertscore",), "Recall does not penalise extra text: use F (appendix D)."),
    (("copy-source",), ("comet-qe",), "It does not check the language of the output: do so before scoring (appendix D)."),
    (("copy-source",), ("unieval",), "A copy has every quality that the metric asks about, but is not a summary: check the length (appendix D)."),
)  # fmt: skip

SPECIAL: Mapping[tuple[str, str], str] = {
    (test, metric): said for tests, metrics, said in _FOUND for test in tests for metric in metrics
}
"""Findings of the paper, by test and by the metric's name without options."""


SOURCE = "Sections, tables and appendices are those of He et al. (2023)."
_BY_ENTAILMENT = "entity-switching", "negated-sentences"
_ENTAILMENT = "nli", "nli-src", "nli-ref-sum", "entailment", "menli"


def advice(test: str, metric: str) -> str:
    """Return advice for a metric that fails a test: first the findings on this metric, then on the test. Own injections get the advice
    for the injection test; other tests outside the registry get ""."""
    known = "injection" if test.startswith("injection") else test
    general = TESTS.get(known, "")
    own = SPECIAL.get((known, metric.partition("|")[0]), "")
    if known in _BY_ENTAILMENT:
        larger = metric.partition("|")[0] in _ENTAILMENT
        general += f" {'A larger entailment model' if larger else 'A metric built on entailment'} may notice them."
    return f"{own} {general} {SOURCE}".strip() if general else ""
