"""Words that a model expects in place of a word, or has near it, and the whole words of a tokenizer.

The model is the masked language model (`mlm`) if configured, else the scorer (`seq2seq`): its encoder reads the text
with the word masked, its decoder the text before it. A candidate is a single token that is a whole word, not
punctuation, and differs from the original word by more than letter case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from core.english.analysis import is_english, is_english_word
from core.english.dictionary import STOP_WORDS, cased
from core.models import configs
from core.models.checkpoint import Checkpoint, resolve
from core.models.configs import configured_model, setting_of
from core.settings import load_settings
from core.text.words import units, words

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedTokenizerBase

    from core.models.architectures.encoder import Encoder
    from core.models.architectures.language_models import MaskedReader
    from core.models.architectures.packed import DecoderRow
    from core.models.architectures.seq2seq import Seq2SeqScorer


Ids = npt.NDArray[np.int64]
SPACE = ("Ġ", "▁")
"""Marks of a token after white space in byte-level and SentencePiece vocabularies."""
INSIDE = "##"
"""Mark of a token that continues a word in a WordPiece vocabulary."""


class WordCandidate(NamedTuple):
    """A candidate. `score` ranks those of one place: log probability up to a constant, or cosine in [−1, 1]."""

    text: str
    score: float


class Vocabulary:
    """The tokens of a tokenizer that are one whole word; `words` gives their texts by id.

    If the vocabulary marks white space, an unmarked token is a whole word only if the same word also exists with the
    mark, in any letter case; others are parts of words. `uncased`: the tokenizer ignores capitals.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        size, special = len(tokenizer), set(tokenizer.all_special_ids)
        raw = [str(t) for t in tokenizer.convert_ids_to_tokens(list(range(size)))]
        shown = tokenizer.batch_decode([[i] for i in range(size)], clean_up_tokenization_spaces=False)
        self.marked = any(t.startswith(SPACE) for t in raw)
        self.uncased = tokenizer.tokenize("A") == tokenizer.tokenize("a")
        self.marks_first = bool(tokenizer.tokenize("a")) and str(tokenizer.tokenize("a")[0]).startswith(SPACE)
        self.words: dict[int, str] = {}
        self._spaced: set[int] = set()
        self._inner: set[int] = set()
        for i, (token, text) in enumerate(zip(raw, shown, strict=True)):
            if i not in special and not token.startswith(INSIDE) and is_word(text.strip()):
                self.words[i] = text.strip()
                if not self.marked or token.startswith(SPACE):
                    self._spaced.add(i)
            if token.startswith(INSIDE) or (self.marked and not token.startswith(SPACE) and text[:1].isalnum()):
                self._inner.add(i)

    @cached_property
    def spaced(self) -> Ids:
        """Ids that can follow white space, ascending."""
        return np.array(sorted(self._spaced), dtype=np.int64)

    @cached_property
    def joined(self) -> Ids:
        """Ids that can follow a character other than white space, ascending."""
        if not self.marked:
            return self.spaced
        whole = {self.words[i].casefold() for i in self._spaced}
        return np.array(
            [i for i, w in self.words.items() if i not in self._spaced and w.casefold() in whole], dtype=np.int64
        )

    def at(self, *, spaced: bool, first: bool) -> Ids:
        """Return the ids that can follow white space (`spaced`), start a text (`first`), or follow punctuation."""
        return self.spaced if (spaced and not first) or (first and self.marks_first) else self.joined

    def continues(self, i: int) -> bool:
        """Return whether the token continues the word before it."""
        return i in self._inner

    def chosen(self, old: str, ids: Iterable[int], scores: Sequence[float], k: int) -> list[WordCandidate]:
        """Return the first k words that differ from `old` and from each other by more than letter case. An uncased
        vocabulary takes the capitals of `old`."""
        taken, out = {old.casefold()}, list[WordCandidate]()
        for i, score in zip(ids, scores, strict=True):
            word = self.words[i]
            if word.casefold() not in taken and len(out) < k:
                taken.add(word.casefold())
                out.append(WordCandidate(cased(word, old) if self.uncased else word, score))
        return out


def is_word(text: str) -> bool:
    """Return whether the text is exactly one word of letters or digits."""
    text_units = units(text)
    return len(text_units) == 1 and text_units[0].is_word and text_units[0].end == len(text) and text[0].isalnum()


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
    return configs.checked("mlm") if setting_of("mlm") else resolve(load_settings().seq2seq)


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
                candidates = [(t, v) for t, v in zip(near[at].tolist(), logps[at].tolist(), strict=True) if t in able]
                ids, values, best = list[int](), list[float](), list[WordCandidate]()
                for lot in (candidates[: k + 4], candidates[k + 4 : 2 * k + 8]):
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
        return [not self.vocabulary.continues(int(i)) for i in following[:, 0]]

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
    chosen = load_settings()
    if setting_of("mlm"):
        from core.models.architectures import language_models

        return _masked(language_models.load_masked())
    from core.models.architectures import seq2seq

    return _decoder(seq2seq.load_seq2seq(chosen.seq2seq, chosen.device, chosen.dtype, chosen.languages))


_masked, _decoder = lru_cache(maxsize=1)(Masked), lru_cache(maxsize=1)(Decoder)


def _listed(low: str) -> bool:
    return low in STOP_WORDS or is_english_word(low)


def _broken(text: str) -> bool:
    return any("\ud800" <= char <= "\udfff" for char in text)


Floats = npt.NDArray[np.float32]


class Neighbours:
    """Words of a vocabulary ranked by cosine of their input embeddings; a word of several tokens is represented by
    their mean.

    `encode` returns the tokens of a text without special tokens.
    """

    def __init__(self, table: Any, vocabulary: Vocabulary, encode: Callable[[str], Sequence[int]]) -> None:
        self.table, self.vocabulary, self.encode = table.detach().float().cpu().numpy(), vocabulary, encode
        self.unit = _unit(self.table[vocabulary.spaced])
        self.near = lru_cache(maxsize=4096)(self._near)

    def _near(self, word: str, k: int) -> tuple[WordCandidate, ...]:
        """Return at most k words, nearest first."""
        own = self.encode(" " + word if self.vocabulary.marked else word)
        if not own:
            return ()
        cosines = self.unit @ _unit(self.table[list(own)].mean(axis=0))
        order = np.argsort(-cosines, kind="stable")[: 2 * k + 8]
        ids = self.vocabulary.spaced[order].tolist()
        return tuple(self.vocabulary.chosen(word, ids, cosines[order].tolist(), k))


def embedding() -> Checkpoint:
    """Return the checkpoint whose input embeddings are used, without loading it. Raises UserError."""
    return configs.checked("mlm") if setting_of("mlm") else configured_model("encoder")


def neighbours() -> Neighbours:
    """Return the nearest-word index, loaded once per process. Raises UserError."""
    if setting_of("mlm"):
        from core.models.architectures import language_models

        return _near_masked(language_models.load_masked())
    from core.models.architectures import encoder

    return _near_encoder(encoder.load_encoder())


@lru_cache(maxsize=1)
def _near_masked(reader: MaskedReader) -> Neighbours:
    return Neighbours(reader.model.get_input_embeddings().weight, Vocabulary(reader.tokenizer), reader.encode)


@lru_cache(maxsize=1)
def _near_encoder(encoder: Encoder) -> Neighbours:
    def encode(text: str) -> list[int]:
        read = encoder.read(text)
        return [i for i, special in zip(read.ids, read.special, strict=True) if not special]

    return Neighbours(encoder.model.get_input_embeddings().weight, Vocabulary(encoder.tokenizer), encode)


def _unit(vectors: Floats) -> Floats:
    """Return the vectors scaled to length 1 along the last axis; zero vectors are unchanged."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), dtype=np.float32)
