"""A text of which some tokens were edited, as people read it: what was not touched stays as it was written, to the character."""

from __future__ import annotations

from collections.abc import Sequence

from core.models.seq2seq import Encoded, Ids, Seq2SeqScorer

Owners = tuple[int | None, ...]
"""For every token of an edited text, which token of the original it is; None for one that was put in."""


class Writer:
    """Writes edited versions of `text`.

    A byte-level tokenizer spells everything, so its tokens say it all. Others (SentencePiece) normalise, and lose what
    they cannot spell: with them every original token stands for the characters from the end of the token before it to
    its own end, and only new tokens are spelled.
    """

    def __init__(self, scorer: Seq2SeqScorer, text: str, encoded: Encoded) -> None:
        self.scorer, self.text, self.encoded = scorer, text, encoded
        self.spelled = scorer.decode(encoded.ids) == text

    def write(self, ids: Ids, owners: Owners) -> str:
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
        """Where a token of the original ends; 0 before the first."""
        return self.encoded.offsets[token][1] if token >= self.scorer.first else 0

    def _spell(self, before: Sequence[int], token: int) -> str:
        """A new token with the blank before it, if it begins a word."""
        known = self.scorer.decode(before[-1:])
        return self.scorer.decode([*before[-1:], token])[len(known) :]


def owners_after(owners: Owners, at: int, edit: str) -> Owners:
    """The owners once a token at `at` was inserted, deleted or substituted."""
    new: Owners = () if edit == "delete" else (None,)
    return (*owners[:at], *new, *owners[at + (edit != "insert") :])
