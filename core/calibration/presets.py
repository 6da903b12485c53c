"""The λ of BARTScore++'s authors, for the data sets of their paper (Lu et al. 2023, Table 7 and section 6).

A λ belongs to the scores it was chosen on: their direction and their prompts, which each preset names. What is known of these:

- λ: Table 7; 1.70 for the MQM labels of WMT20 zh-en: section 6.
- Direction: Table 6 and appendix A. The settings released with the paper (`score.py` in Coldmist-Lu/
  ErrorAnalysis_NLGEvaluation) agree; they write source → output as their precision with the source in the reference's place.
- Prompts: the paper says "the same prompting strategy as in BARTScore" (section 4.3) and no more. The release of BARTScore
  (neulab/BARTScore: WMT/, SUM/, D2T/score.py) computes every phrase on both sides and names no side as the one to report.
  The side is therefore taken from the settings released with BARTScore++: encoder for WMT20; decoder for REALSumm,
  SummEval, NeR18, BAGEL, SFRES and SFHOT; none for Rank19 and QAGS, where prompts lowered agreement (Table 4).
  That BARTScore's figures with prompts are of the decoder's side in summarization is borne out by its notebook
  (analysis.ipynb): Rank19 .7962 and QAGS-CNN .7185 are the rows "+ Prompt" of Table 4.
- Lists: `mt` is WMT20's, `data_to_text` that of D2T, `summarization_hypothesis_to_reference` REALSumm's and
  `summarization_source_to_hypothesis` that of SummEval and NeR18; the release names a file for each, and that of the last is
  not in it.

Unknown: whether the prompts of WMT20 were in force when λ = 1.70 was fixed on the MQM labels (it stands in no released
setting; `mt` on the encoder is assumed, as for the other language pairs, and `assumed` says so); and whether the λ of a
data set was searched with or without prompts, since Table 7 gives one λ where Tables 2 to 5 report both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from core.errors import UserError
from core.refine.options import Side, prompt_fact
from core.refine.prompts import BUILT_IN, Lists, known_lists
from core.refine.result import Variant

DIRECTIONS: dict[Variant, str] = {
    "f": "F",
    "precision": "precision",
    "recall": "recall",
    "faithfulness": "faithfulness",
}


class Preset(NamedTuple):
    """`aspect` is the quality aspect or the language pair; "" where there is none. `prompts` names a list, "" for no prompt;
    `assumed` says that the prompts are a guess."""

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
    def made_with(self) -> str:
        """Direction and prompts in words: "F, prompt list mt on the encoder"."""
        guess = ", assumed" if self.assumed else ""
        prompts = f"prompt list {self.prompts} on the {self.side}{guess}" if self.prompts else "no prompt"
        return f"{DIRECTIONS[self.variant]}, {prompts}"

    def differs(self, facts: Mapping[str, str]) -> str:
        """What of it is not as in the scores of a signature with these facts: "direction", "prompts", both, or "".

        A prompt list that is not here is compared by its side alone.
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
    except UserError:  # said where prompts are chosen
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

PRESETS: tuple[Preset, ...] = (
    *(Preset("MT", "WMT20", pair, lam, "f", "mt", "encoder") for pair, lam in _WMT20.items()),
    Preset("MT", "WMT20 MQM", "zh-en", 1.70, "f", "mt", "encoder", assumed=True),
    Preset("SUM", "REALSumm", "COV", 0.95, "recall", "summarization_hypothesis_to_reference", "decoder"),
    Preset("SUM", "SummEval", "COH", 1.00, "faithfulness", _TO_SUMMARY, "decoder"),
    Preset("SUM", "SummEval", "FAC", 0.75, "faithfulness", _TO_SUMMARY, "decoder"),
    Preset("SUM", "SummEval", "FLU", 1.40, "faithfulness", _TO_SUMMARY, "decoder"),
    Preset("SUM", "SummEval", "INFO", 0.95, "faithfulness", _TO_SUMMARY, "decoder"),
    Preset("SUM", "NeR18", "COH", 1.10, "faithfulness", _TO_SUMMARY, "decoder"),
    Preset("SUM", "NeR18", "FLU", 0.75, "faithfulness", _TO_SUMMARY, "decoder"),
    Preset("SUM", "NeR18", "INFO", 0.70, "faithfulness", _TO_SUMMARY, "decoder"),
    Preset("SUM", "NeR18", "REL", 0.70, "faithfulness", _TO_SUMMARY, "decoder"),
    Preset("SUM", "Rank19", "FAC", 0.85, "faithfulness"),
    Preset("SUM", "QAGS-CNN", "FAC", 1.00, "faithfulness"),
    Preset("SUM", "QAGS-XSUM", "FAC", 0.90, "faithfulness"),
    Preset("D2T", "BAGEL", "", 2.00, "f", "data_to_text", "decoder"),
    Preset("D2T", "SFRES", "", 1.40, "f", "data_to_text", "decoder"),
    Preset("D2T", "SFHOT", "", 4.90, "f", "data_to_text", "decoder"),
)
