"""Words that a language model expects in place of a word (He et al. 2023, Table 16 and appendix J.1).

The model is the masked language model (`mlm`) if configured, else the scorer (`seq2seq`): its encoder reads the text
with the word masked, its decoder the text before it. A candidate is a single token that is a whole word, not
punctuation, and differs from the original word by more than letter case.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from core.english.detection import is_english, is_english_word
from core.english.small_words import STOP_WORDS
from core.models import configs
from core.models.checkpoint import Checkpoint, resolve
from core.models.kinds import setting_of
from core.perturbations.vocabulary import Vocabulary, WordCandidate
from core.settings import load as settings
from core.text.words import words

if TYPE_CHECKING:
    import torch

    from core.models.architectures.masked import MaskedReader
    from core.models.architectures.packed import DecoderRow
    from core.models.architectures.seq2seq import Seq2SeqScorer

TRIED = 200
"""Number of most probable scorer tokens searched for whole words; most of the rest are parts of words."""
AROUND = 1000
"""Code points that a scorer reads on either side of a place."""
BROKEN = "the text contains half a character (a lone surrogate), which models cannot read"
NOT_ENGLISH = (
    "not English, and the configured model reads only English; set a masked language model with ERRORSCOPE_MLM"
)


class WordPlace(NamedTuple):
    """The word `text[start:end]`."""

    text: str
    start: int
    end: int

    @property
    def word(self) -> str:
        return self.text[self.start : self.end]

    @property
    def spaced(self) -> bool:
        """Whether white space precedes the word."""
        return self.text[: self.start][-1:].isspace()

    @property
    def first(self) -> bool:
        """Whether nothing but white space precedes the word."""
        return not self.text[: self.start].strip()


class Proposer(Protocol):
    """A loaded model that proposes words."""

    def __hash__(self) -> int: ...

    def refuses(self, text: str) -> str:
        """Return why the model cannot read this text, or ""."""

    def expected(self, places: Sequence[WordPlace], k: int) -> list[list[WordCandidate]]:
        """Return at most k words per place, most probable first."""


def proposer_checkpoint() -> Checkpoint:
    """Return the checkpoint that proposes words, without loading it. Raises UserError."""
    return configs.checked("mlm") if setting_of("mlm") else resolve(settings().seq2seq)


def name_with_revision(checkpoint: Checkpoint) -> str:
    """Return name and revision, for signatures."""
    return f"{checkpoint.name} {checkpoint.revision}"


class Masked:
    """A masked language model: the word is replaced by one mask. A long text is cut to a window around it."""

    def __init__(self, reader: MaskedReader) -> None:
        self.reader, self.vocabulary = reader, Vocabulary(reader.tokenizer)

    def refuses(self, text: str) -> str:
        return BROKEN if _broken(text) else ""

    def expected(self, places: Sequence[WordPlace], k: int) -> list[list[WordCandidate]]:
        import torch

        from core.models import loading

        reader = self.reader
        rows, at = [], []
        for place in places:
            before, after = reader.encode(place.text[: place.start].rstrip()), reader.encode(place.text[place.end :])
            row, mask = reader.masked([*before, 0, *after], len(before))
            rows.append(row)
            at.append(mask)

        @torch.inference_mode()
        def work(group: list[int]) -> list[list[WordCandidate]]:
            batch = loading.padded([rows[i] for i in group], reader.tokenizer.pad_token_id, reader.device)
            logits = reader.model(**batch).logits
            table = logits[torch.arange(len(group)), torch.tensor([at[i] for i in group])].float().cpu()
            return [self._best(places[i], line, k) for i, line in zip(group, table, strict=True)]

        return loading.in_pieces([len(row.ids) for row in rows], reader.budget, work)

    def _best(self, place: WordPlace, line: torch.Tensor, k: int) -> list[WordCandidate]:
        import torch

        able = torch.as_tensor(self.vocabulary.at(spaced=place.spaced, first=place.first))
        best = torch.topk(line[able], min(2 * k + 8, len(able)))
        return self.vocabulary.chosen(place.word, able[best.indices].tolist(), best.values.tolist(), k)


class Seq2SeqInputs(NamedTuple):
    """Encoder and decoder input ids for one place."""

    condition: list[int]
    prefix: list[int]


class Decoder:
    """An encoder–decoder. The encoder reads the text with the word masked (removed, if the family is trained without a
    mask), the decoder the text before it. Candidates are words of the English dictionary that the model would not
    continue."""

    def __init__(self, scorer: Seq2SeqScorer) -> None:
        self.scorer, self.vocabulary = scorer, Vocabulary(scorer.tokenizer)
        mask = scorer.tokenizer.mask_token_id
        self.mask = [int(mask)] if mask is not None and scorer.model.config.model_type in ("bart", "mbart") else []
        known = {
            i
            for i, w in self.vocabulary.words.items()
            if w.isdigit() or w in ("a", "A", "I") or (len(w) > 1 and _listed(w.lower()))
        }
        self.able = {
            spaced: known & set(self.vocabulary.at(spaced=spaced, first=not spaced).tolist())
            for spaced in (True, False)
        }

    def refuses(self, text: str) -> str:
        if _broken(text):
            return BROKEN
        return "" if is_english([text[start:end].lower() for start, end in words(text)]) else NOT_ENGLISH

    def expected(self, places: Sequence[WordPlace], k: int) -> list[list[WordCandidate]]:
        import torch

        from core.models.architectures.packed import DecoderRow

        scorer, read = self.scorer, [self._read(place) for place in places]
        out: list[list[WordCandidate]] = []
        for piece in scorer.budget.pieces([len(r.condition) + len(r.prefix) for r in read]):
            memory = scorer.read([read[i].condition for i in piece])
            sizes = [len(read[i].prefix) for i in piece]
            run = scorer.run([DecoderRow(m, None, 0, read[i].prefix) for m, i in zip(memory, piece, strict=True)])
            last = run.hidden[np.cumsum(sizes) - 1]
            _, near, logps = scorer.likely(last, [0] * len(sizes), TRIED)
            pasts = torch.split(run.past, sizes, dim=2)
            for at, i in enumerate(piece):
                able = self.able[places[i].spaced and not places[i].first]
                found = [(t, v) for t, v in zip(near[at].tolist(), logps[at].tolist(), strict=True) if t in able]
                ids, values, best = list[int](), list[float](), list[WordCandidate]()
                for lot in (found[: k + 4], found[k + 4 : 2 * k + 8]):
                    whole = self._whole([DecoderRow(memory[at], pasts[at], sizes[at], [token]) for token, _ in lot])
                    ids += [token for (token, _), keep in zip(lot, whole, strict=True) if keep]
                    values += [value for (_, value), keep in zip(lot, whole, strict=True) if keep]
                    best = self.vocabulary.chosen(places[i].word, ids, values, k)
                    if len(best) == k:
                        break
                out.append(best)
        return out

    def _whole(self, rows: Sequence[DecoderRow]) -> list[bool]:
        """Return, for each row ending in a candidate, whether the model would start a new word next."""
        if not rows:
            return []
        _, following, _ = self.scorer.likely(self.scorer.run(rows).hidden, [0] * len(rows), 1)
        return [not self.vocabulary.goes_on(int(i)) for i in following[:, 0]]

    def _read(self, place: WordPlace) -> Seq2SeqInputs:
        """Return encoder and decoder inputs; a long text is cut to a window around the place."""
        whole = self.scorer.encode("a")
        first, last = whole.ids[: self.scorer.first], whole.ids[-1:]
        before = self._bare(place.text[max(0, place.start - AROUND) : place.start].rstrip())
        after = self._bare(place.text[place.end : place.end + AROUND])
        room = self.scorer.limit - len(whole.lead) - len(first) - len(last) - len(self.mask)
        before = before[-max(room // 2, room - len(after)) :]
        after = after[: room - len(before)]
        condition = [*whole.lead, *first, *before, *self.mask, *after, *last]
        return Seq2SeqInputs(condition, [*self.scorer.starts, *first, *before])

    def _bare(self, text: str) -> list[int]:
        """Return the tokens of the text without special tokens."""
        return self.scorer.encode(text).ids[self.scorer.first : -1]


def proposer() -> Proposer:
    """Return the model that proposes words, loaded once per process. Raises UserError."""
    chosen = settings()
    if setting_of("mlm"):
        from core.models.architectures import masked

        return _masked(masked.load())
    from core.models.architectures import seq2seq

    return _decoder(seq2seq.load(chosen.seq2seq, chosen.device, chosen.dtype, chosen.languages))


_masked, _decoder = lru_cache(maxsize=1)(Masked), lru_cache(maxsize=1)(Decoder)


def _listed(low: str) -> bool:
    return low in STOP_WORDS or is_english_word(low)


def _broken(text: str) -> bool:
    return any("\ud800" <= char <= "\udfff" for char in text)
