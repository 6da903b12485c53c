"""Published λ of BARTScore++ for the data sets of the paper (Lu et al. 2023, Table 7 and section 6).

A λ is valid for scores with the direction and prompts it was chosen with. Each preset names these; the sources are:

- λ: Table 7; 1.70 for the MQM labels of WMT20 zh-en: section 6.
- Direction: Table 6 and appendix A. The settings released with the paper (`score.py` in Coldmist-Lu/
  ErrorAnalysis_NLGEvaluation) agree; they write source → output as their precision with the source in the reference's place.
- Prompts: the paper says "the same prompting strategy as in BARTScore" (section 4.3) and no more. The release of BARTScore
  (neulab/BARTScore: WMT/, SUM/, D2T/score.py) computes every phrase on both sides and names no side as the one to report.
  The side is therefore taken from the settings released with BARTScore++: encoder for WMT20; decoder for REALSumm,
  SummEval, NeR18, BAGEL, SFRES and SFHOT; none for Rank19 and QAGS, where prompts lowered agreement (Table 4).
  BARTScore's notebook (analysis.ipynb) confirms the decoder's side for its summarization results with prompts:
  Rank19 .7962 and QAGS-CNN .7185 are the rows "+ Prompt" of Table 4.
- Lists: `mt` is WMT20's, `data_to_text` that of D2T, `summarization_hypothesis_to_reference` REALSumm's and
  `summarization_source_to_hypothesis` that of SummEval and NeR18; the release names a file for each, but does not contain
  that of the last.

Unknown: whether the prompts of WMT20 were used when λ = 1.70 was chosen on the MQM labels (no released setting contains it;
`mt` on the encoder is assumed, as for the other language pairs, and marked by `assumed`), and whether the λ of a
data set was searched with or without prompts, since Table 7 gives one λ while Tables 2 to 5 report both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from core.errors import UserError
from core.refine.options import Side, prompt_fact
from core.refine.prompts import BUILT_IN, Lists, known_lists
from core.refine.result import Variant

DATA_SETS = {
    "WMT20": "translations of news, WMT 2020",
    "WMT20 MQM": "translations of news, WMT 2020, MQM labels",
    "REALSumm": "summaries of CNN/DailyMail news (Bhandari et al. 2020)",
    "SummEval": "summaries of CNN/DailyMail news (Fabbri et al. 2021)",
    "NeR18": "Newsroom: summaries of news (Grusky et al. 2018)",
    "Rank19": "pairs of correct and incorrect summary sentences (Falke et al. 2019)",
    "QAGS-CNN": "summaries of CNN/DailyMail news (Wang et al. 2020)",
    "QAGS-XSUM": "one-sentence summaries of BBC news (Wang et al. 2020)",
    "BAGEL": "descriptions of restaurants (Mairesse et al. 2010)",
    "SFRES": "dialogue turns about restaurants (Wen et al. 2015)",
    "SFHOT": "dialogue turns about hotels (Wen et al. 2015)",
}
"""What the data sets contain."""
ASPECTS = {
    "COV": "coverage", "COH": "coherence", "FAC": "factuality", "FLU": "fluency", "INFO": "informativeness",
    "REL": "relevance",
}  # fmt: skip


class LambdaPreset(NamedTuple):
    """A published λ with the scores it belongs to.

    `aspect` is the quality aspect or language pair, "" if there is none. `prompts` names a prompt list, "" for no prompt;
    `assumed` marks prompts that are not documented.
    """

    task: Literal["MT", "SUM", "D2T"]
    dataset: str
    aspect: str
    lam: float
    variant: Variant
    prompts: str = ""
    side: Side = "encoder"
    assumed: bool = False

    @property
    def label(self) -> str:
        return f"{self.dataset} {self.aspect}".strip()

    @property
    def about(self) -> str:
        """Return what the data set contains, and what was rated."""
        rated = ASPECTS.get(self.aspect, "")
        return DATA_SETS[self.dataset] + (f"; rated: {rated}" if rated else "")

    @property
    def made_with(self) -> str:
        """Return direction and prompts in words, such as "F, prompt list mt on the encoder"."""
        guess = ", assumed" if self.assumed else ""
        prompts = f"prompt list {self.prompts} on the {self.side}{guess}" if self.prompts else "no prompt"
        return f"{'F' if self.variant == 'f' else self.variant}, {prompts}"

    def differs(self, facts: Mapping[str, str]) -> str:
        """Return how it differs from scores with these signature facts: "direction", "prompts", both, or "".

        An unavailable prompt list is compared by its side only.
        """
        other = ["direction"] if facts.get("variant", self.variant) != self.variant else []
        there, known = facts.get("prompt", "none"), _lists().get(self.prompts)
        if not self.prompts:
            same = there == "none"
        elif known is None:
            same = there.startswith(f"{self.side}(")
        else:
            same = there == prompt_fact(known, self.side)
        return " and ".join(other if same else [*other, "prompts"])


def _lists() -> Lists:
    try:
        return known_lists()
    except UserError:  # reported where prompts are chosen
        return BUILT_IN


_WMT20 = {
    "cs-en": 0.80,
    "de-en": 0.40,
    "ja-en": 0.50,
    "ru-en": 1.70,
    "zh-en": 1.10,
    "iu-en": 0.95,
    "km-en": 1.30,
    "pl-en": 0.85,
    "ps-en": 1.10,
    "ta-en": 0.60,
}
_TO_SUMMARY = "summarization_source_to_hypothesis"

PRESETS: tuple[LambdaPreset, ...] = (
    *(LambdaPreset("MT", "WMT20", pair, lam, "f", "mt", "encoder") for pair, lam in _WMT20.items()),
    LambdaPreset("MT", "WMT20 MQM", "zh-en", 1.70, "f", "mt", "encoder", assumed=True),
    LambdaPreset("SUM", "REALSumm", "COV", 0.95, "recall", "summarization_hypothesis_to_reference", "decoder"),
    LambdaPreset("SUM", "SummEval", "COH", 1.00, "faithfulness", _TO_SUMMARY, "decoder"),
    LambdaPreset("SUM", "SummEval", "FAC", 0.75, "faithfulness", _TO_SUMMARY, "decoder"),
    LambdaPreset("SUM", "SummEval", "FLU", 1.40, "faithfulness", _TO_SUMMARY, "decoder"),
    LambdaPreset("SUM", "SummEval", "INFO", 0.95, "faithfulness", _TO_SUMMARY, "decoder"),
    LambdaPreset("SUM", "NeR18", "COH", 1.10, "faithfulness", _TO_SUMMARY, "decoder"),
    LambdaPreset("SUM", "NeR18", "FLU", 0.75, "faithfulness", _TO_SUMMARY, "decoder"),
    LambdaPreset("SUM", "NeR18", "INFO", 0.70, "faithfulness", _TO_SUMMARY, "decoder"),
    LambdaPreset("SUM", "NeR18", "REL", 0.70, "faithfulness", _TO_SUMMARY, "decoder"),
    LambdaPreset("SUM", "Rank19", "FAC", 0.85, "faithfulness"),
    LambdaPreset("SUM", "QAGS-CNN", "FAC", 1.00, "faithfulness"),
    LambdaPreset("SUM", "QAGS-XSUM", "FAC", 0.90, "faithfulness"),
    LambdaPreset("D2T", "BAGEL", "", 2.00, "f", "data_to_text", "decoder"),
    LambdaPreset("D2T", "SFRES", "", 1.40, "f", "data_to_text", "decoder"),
    LambdaPreset("D2T", "SFHOT", "", 4.90, "f", "data_to_text", "decoder"),
)
