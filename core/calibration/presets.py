"""Published λ of BARTScore++ (Lu et al. 2023, Table 7 and section 6), and recommended numbers of outputs and raters.

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
from core.formatting import format_number
from core.refine.prompts import BUILT_IN, Lists, known_lists
from core.refine.result import PromptSide, Variant, prompt_fact
from core.stats.correlation.correlation import FEWEST_GROUPS, too_few_groups

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
    side: PromptSide = "encoder"
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
        prompt, known = facts.get("prompt", "none"), _lists().get(self.prompts)
        if not self.prompts:
            same = prompt == "none"
        elif known is None:
            same = prompt.startswith(f"{self.side}(")
        else:
            same = prompt == prompt_fact(known, self.side)
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


EVEN = 1.0
"""The λ that weighs both distances equally: the default recommendation."""
ENOUGH_OUTPUTS = 100
ENOUGH_RATERS = 2


def enough_outputs(available: int | None) -> int:
    """Return the recommended number of outputs, or all `available` ones of a project with fewer. None: unknown."""
    return ENOUGH_OUTPUTS if available is None else min(ENOUGH_OUTPUTS, available)


class Advice(NamedTuple):
    """The recommended λ, or None, with the reason in one or two sentences.

    `gain` is the agreement at the best λ minus that at λ = 1, `gain_ci` its 95 % bootstrap interval.
    """

    lam: float | None
    gain: float | None
    gain_ci: tuple[float, float] | None
    why: str


def advice(
    lam: float,
    agreement: float,
    at_one: float | None,
    gain_ci: tuple[float, float] | None,
    groups: tuple[int, int] | None = None,
) -> Advice:
    """Recommend `lam` if the interval of its gain over λ = 1 is above 0, else λ = 1.

    `groups`: the number of segments in which agreement is defined, and of all segments.
    """
    gain = None if at_one is None else agreement - at_one
    if groups is not None and too_few_groups(*groups):
        why = (
            f"Agreement is defined in {groups[0]} of {groups[1]} segments. At least {FEWEST_GROUPS}, and half of all, "
            "are needed to choose λ. Use λ = 1."
        )
        return Advice(EVEN, gain, gain_ci, why)
    if gain is None:
        return Advice(None, None, None, "Agreement is undefined at λ = 1, so the gain cannot be computed.")
    if gain_ci is None:
        return Advice(None, gain, None, "The gain over λ = 1 has no confidence interval, so no λ is recommended.")
    low, high = gain_ci
    said = f"The gain in agreement over λ = 1 is {format_number(gain, 4)}, 95 % CI {format_number(low, 4)} to {format_number(high, 4)}"
    if low > 0:
        return Advice(lam, gain, gain_ci, f"{said}: the best λ is recommended.")
    return Advice(EVEN, gain, gain_ci, f"{said}: not significantly better, so it may be chance. Use λ = 1.")
