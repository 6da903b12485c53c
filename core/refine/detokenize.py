"""Turn edited tokens back into text; unedited parts keep their original characters."""

from __future__ import annotations

from collections.abc import Sequence

from core.models.architectures.seq2seq import EncodedText, Ids, Seq2SeqScorer

Owners = tuple[int | None, ...]
"""For each token of an edited text, its index in the original text; None for an inserted token."""


class Detokenizer:
    """Return edited versions of `text` as strings.

    Tokens of a byte-level tokenizer decode to the exact text. Other tokenizers (SentencePiece) normalise and lose
    unknown characters. With these, an original token stands for the characters from the end of the previous token to
    its own end, and only new tokens are decoded.
    """

    def __init__(self, scorer: Seq2SeqScorer, text: str, encoded: EncodedText) -> None:
        self.scorer, self.text, self.encoded = scorer, text, encoded
        self.spelled = scorer.decode(encoded.ids) == text

    def detokenize(self, ids: Ids, owners: Owners) -> str:
        if self.spelled:
            return self.scorer.decode(ids)
        out, last = "", len(self.encoded.ids) - 1
        for place, (token, owner) in enumerate(zip(ids, owners, strict=True)):
            if owner is None:
                out += self._spell(ids[:place], token) if out else self._spell([], token).lstrip()
            elif owner == last:
                out += self.text[self._end(last - 1) :] if not self.encoded.truncated else ""
            elif owner >= self.scorer.first:
                out += self.text[self._end(owner - 1) : self._end(owner)]
        return out

    def _end(self, token: int) -> int:
        """Return the end offset of an original token, 0 before the first."""
        return self.encoded.offsets[token][1] if token >= self.scorer.first else 0

    def _spell(self, before: Sequence[int], token: int) -> str:
        """Return the text of a new token, with a leading space if it begins a word."""
        known = self.scorer.decode(before[-1:])
        return self.scorer.decode([*before[-1:], token])[len(known) :]


def owners_after(owners: Owners, at: int, edit: str) -> Owners:
    """Return the owners after a token at `at` was inserted, deleted or substituted."""
    new: Owners = () if edit == "delete" else (None,)
    return (*owners[:at], *new, *owners[at + (edit != "insert") :])
