"""UniEval's evaluator (Zhong et al. 2022, equation 2): an encoder–decoder that answers yes or no."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from core.models import configs, loading
from core.models.architectures import seq2seq
from core.models.architectures.packed import DecoderRow
from core.models.architectures.seq2seq import Ids, Seq2SeqScorer
from core.progress import Progress, no_progress

LONGEST = 1024
"""Maximum tokens per question, as in UniEval's training."""

YES, NO = "Yes", "No"


class EncodedQuestion(NamedTuple):
    """A question as token ids; `truncated` is True if its end was cut."""

    ids: Ids
    truncated: bool


class YesNo:
    """Computes P(Yes) / (P(Yes) + P(No)) at the decoder's first step."""

    def __init__(self, scorer: Seq2SeqScorer) -> None:
        self.scorer = scorer
        self.yes, self.no = (self._bare(word)[0] for word in (YES, NO))

    def question(self, parts: Sequence[str]) -> EncodedQuestion:
        """Return the parts joined and ended by the end token. An end token written in a part is treated as text."""
        end = int(self.scorer.tokenizer.eos_token_id)
        ids = [i for part in parts for i in (*self._bare(part), end)]
        if len(ids) <= LONGEST:
            return EncodedQuestion(ids, False)
        return EncodedQuestion([*ids[: LONGEST - 1], end], True)

    def _bare(self, text: str) -> Ids:
        out = self.scorer.tokenizer(text, add_special_tokens=False, split_special_tokens=True, verbose=False)
        return list(out["input_ids"])

    @torch.inference_mode()
    def probabilities(self, questions: Sequence[EncodedQuestion], progress: Progress = no_progress) -> list[float]:
        """Return P(yes) of each question, in order."""
        scorer = self.scorer

        def work(group: list[int]) -> list[float]:
            read = scorer.read([questions[i].ids for i in group])
            hidden = scorer.run([DecoderRow(memory, None, 0, scorer.starts) for memory in read]).hidden
            last = hidden[len(scorer.starts) - 1 :: len(scorer.starts)]
            yes, no = (scorer.logps(last, [token] * len(group)) for token in (self.yes, self.no))
            return [float(p) for p in 1 / (1 + np.exp(no - yes))]

        return loading.in_pieces([len(q.ids) for q in questions], scorer.budget, work, progress)


def load_yes_no() -> YesNo:
    """Return the configured `unieval` model, loaded once per process. Raises UserError if it is missing or does not fit."""
    return YesNo(seq2seq.load_seq2seq(str(configs.checked("unieval").path), loading.device()))
