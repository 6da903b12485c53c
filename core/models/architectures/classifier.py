"""Models that map a pair of texts to a few numbers: NLI classifiers and regression models."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from transformers import AutoModelForSequenceClassification, PreTrainedTokenizerBase

from core.errors import UserError
from core.models import adapter, configs, loading
from core.models.budget import Budget, tokens_for
from core.models.checkpoint import Checkpoint, is_adapter
from core.models.configs import NliLabels
from core.models.loading import TokenRow
from core.models.model_cache import cached_loader
from core.progress import Progress, no_progress

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Pair = tuple[str, str]


class ClassifierOutputs(NamedTuple):
    """`values` (pairs, outputs), and `truncated` (pairs,): whether a text was cut."""

    values: Array
    truncated: Flags


class Classifier:
    """Logits of one loaded checkpoint for pairs of texts; equal pairs are computed once."""

    def __init__(self, model: Any, tokenizer: PreTrainedTokenizerBase, *, token_budget: int | None = None) -> None:
        self.model, self.tokenizer = model.eval(), tokenizer
        self.device = next(model.parameters()).device
        self.limit = loading.positions(model, tokenizer)
        self.budget = Budget(token_budget or tokens_for(160 * int(model.config.hidden_size), self.device), self.device)
        kinds = getattr(model.config, "type_vocab_size", None)
        self.types = "token_type_ids" in tokenizer.model_input_names if kinds is None else kinds > 1
        self._tokenizing = Lock()

    def encode(self, first: str, second: str) -> TokenRow:
        """Return the token ids of both texts, cutting the longer one. A "[SEP]" written in a text is treated as text."""
        given = {"split_special_tokens": True, "return_token_type_ids": self.types, "verbose": False}
        with self._tokenizing:
            out = self.tokenizer(first, second, truncation=False, **given)
            cut = len(out["input_ids"]) > self.limit
            if cut:
                out = self.tokenizer(first, second, truncation="longest_first", max_length=self.limit, **given)
        return TokenRow(list(out["input_ids"]), list(out["token_type_ids"]) if self.types else [], cut)

    @torch.inference_mode()
    def logits(self, pairs: Sequence[Pair], progress: Progress = no_progress) -> ClassifierOutputs:
        """Return the logits, in the order of the configuration's labels."""
        distinct = list(dict.fromkeys(pairs))
        rows = [self.encode(*pair) for pair in distinct]

        def work(group: list[int]) -> list[Array]:
            batch = loading.padded([rows[i] for i in group], self.tokenizer.pad_token_id, self.device)
            return list(self.model(**batch).logits.double().cpu().numpy())

        found = loading.in_pieces([len(row.ids) for row in rows], self.budget, work, progress)
        at = {pair: i for i, pair in enumerate(distinct)}
        width = int(self.model.config.num_labels)
        values = np.array([found[at[pair]] for pair in pairs], dtype=np.float64).reshape(len(pairs), width)
        return ClassifierOutputs(values, np.array([rows[at[pair]].truncated for pair in pairs], dtype=np.bool_))


class NliModel:
    """Probabilities that a premise entails, neither entails nor contradicts, or contradicts a hypothesis."""

    def __init__(self, classifier: Classifier, labels: NliLabels) -> None:
        self.classifier, self.labels = classifier, labels

    @property
    def limit(self) -> int:
        """Return the maximum number of tokens of both texts, special tokens included."""
        return self.classifier.limit

    def entailment(self, pairs: Sequence[Pair], progress: Progress = no_progress) -> ClassifierOutputs:
        """Return P(entailment) of each pair (premise, hypothesis), shape (pairs, 1). The model needs only this label."""
        given = self.classifier.logits(pairs, progress)
        return ClassifierOutputs(_softmax(given.values)[:, [self.labels.entailment]], given.truncated)

    def judged(self, pairs: Sequence[Pair], progress: Progress = no_progress) -> ClassifierOutputs:
        """Return P(entailment), P(neutral), P(contradiction) of each pair (premise, hypothesis), shape (pairs, 3).

        Raises UserError if the model lacks one of the labels.
        """
        columns = [c for c in self.labels if c is not None]
        if len(columns) < len(self.labels):
            raise UserError(
                "this NLI model does not distinguish neutral from contradiction",
                where="ERRORSCOPE_NLI",
                expected="a model with the labels entailment, neutral and contradiction",
            )
        given = self.classifier.logits(pairs, progress)
        return ClassifierOutputs(_softmax(given.values)[:, columns], given.truncated)

    def probabilities(self, pairs: Sequence[Pair]) -> Array:
        """Return only the values of `judged`: float64 (pairs, 3), e, n, c."""
        return self.judged(pairs).values


def _softmax(logits: Array) -> Array:
    odds = np.exp(logits - logits.max(axis=1, keepdims=True, initial=-np.inf))
    shares: Array = odds / odds.sum(axis=1, keepdims=True)
    return shares


def nli() -> NliModel:
    """Return the configured `nli` model, loaded once per process. Raises UserError if it is missing or does not fit."""
    checkpoint = configs.checked("nli")
    return NliModel(_load(checkpoint, loading.device()), configs.labels(checkpoint))


def regressor(kind: str) -> Classifier:
    """Return the configured regression model of a kind. Raises UserError if it is missing or has several outputs."""
    return _load(configs.regressor(kind), loading.device())


@cached_loader(2)
def _load(checkpoint: Checkpoint, place: str) -> Classifier:
    if is_adapter(checkpoint.path):
        return Classifier(adapter.merged(checkpoint, place), loading.tokenizer(adapter.base()))
    network = loading.model(AutoModelForSequenceClassification, checkpoint, place)
    return Classifier(network, loading.tokenizer(checkpoint))
