"""An encoder–decoder that answers yes or no: UniEval's evaluator (Zhong et al. 2022, equation 2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from core.models import configs, loading, seq2seq
from core.models.loading import Tick
from core.models.packed import Row as Decoded
from core.models.seq2seq import Ids, Seq2SeqScorer

LONGEST = 1024
"""Tokens of a question; UniEval was trained and is run with so many."""

YES, NO = "Yes", "No"


class Asked(NamedTuple):
    """A question as token ids; `truncated`: its end was cut off."""

    ids: Ids
    truncated: bool


class YesNo:
    """P(Yes) / (P(Yes) + P(No)) at the decoder's first step."""

    def __init__(self, scorer: Seq2SeqScorer) -> None:
        self.scorer = scorer
        self.yes, self.no = (self._bare(word)[0] for word in (YES, NO))

    def question(self, parts: Sequence[str]) -> Asked:
        """Parts joined by the model's end sign, which also ends the whole; one that stands inside a part is text."""
        end = int(self.scorer.tokenizer.eos_token_id)
        ids = [i for part in parts for i in (*self._bare(part), end)]
        if len(ids) <= LONGEST:
            return Asked(ids, False)
        return Asked([*ids[: LONGEST - 1], end], True)

    def _bare(self, text: str) -> Ids:
        out = self.scorer.tokenizer(text, add_special_tokens=False, split_special_tokens=True, verbose=False)
        return list(out["input_ids"])

    @torch.inference_mode()
    def probabilities(self, questions: Sequence[Asked], tick: Tick | None = None) -> list[float]:
        """Of each question, in the order given."""
        scorer = self.scorer

        def work(group: list[int]) -> list[float]:
            read = scorer.read([questions[i].ids for i in group])
            hidden = scorer.run([Decoded(memory, None, 0, scorer.starts) for memory in read]).hidden
            last = hidden[len(scorer.starts) - 1 :: len(scorer.starts)]
            yes, no = (scorer.logps(last, [token] * len(group)) for token in (self.yes, self.no))
            return [float(p) for p in 1 / (1 + np.exp(no - yes))]

        return loading.in_pieces([len(q.ids) for q in questions], scorer.budget, work, tick)


def load() -> YesNo:
    """The model in the role `unieval`, loaded once a process. Raises UserError where it cannot play it."""
    return YesNo(seq2seq.load(str(configs.checked("unieval").path), loading.device()))
