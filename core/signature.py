"""Signatures and content keys, which identify the computation and the texts behind a number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from json.encoder import encode_basestring


def signature(metric: str, options: Mapping[str, object]) -> str:
    """Return `metric|key:value|…` in the given order, as in sacreBLEU; floats in shortest form, booleans as yes/no.

    A `|` inside a name or value is replaced by `/`, so that a signature can be split at every `|`.
    """

    def plain(value: object) -> str:
        if isinstance(value, bool):
            return "yes" if value else "no"
        return (format_exact(value) if isinstance(value, float) else str(value)).replace("|", "/")

    return "|".join([plain(metric), *(f"{plain(k)}:{plain(v)}" for k, v in options.items())])


def fields_of(signed: str) -> dict[str, str]:
    """Return the fields of a signature by name: variant, model, …"""
    return dict(part.split(":", 1) for part in signed.split("|") if ":" in part)


GIVEN = " (given)"
"""Suffix of a signature field whose value was given explicitly but equals the default; the scores are the same."""

EXTERNAL = "external"
"""First field of the signature of an external score; with a colon, prefix of its stored name."""


def external_metric(name: str) -> str:
    """Return the stored name of an external score; no built-in metric can have this name."""
    return f"{EXTERNAL}:{name}"


def external_signature(name: str, higher_is_better: bool, files: Sequence[tuple[str, str, str]]) -> str:
    """Return the signature of external scores: name, direction, and the files (name, SHA-256, column) they came from.

    Names and columns of several files are joined by " + ", with "–" for a file without a column; `column` is left out if
    no file has one. The digest of several files is that of their digests, one per line.
    """
    digests = [digest for _, digest, _ in files]
    digest = digests[0] if len(digests) == 1 else sha256("\n".join(digests).encode()).hexdigest()
    facts = {
        "name": name,
        "direction": "higher" if higher_is_better else "lower",
        "file": " + ".join(file for file, _, _ in files),
        **({"column": " + ".join(column or "–" for _, _, column in files)} if any(c for _, _, c in files) else {}),
        "sha256": digest,
    }
    return signature(EXTERNAL, facts)


def format_exact(value: float) -> str:
    """Return the shortest text that reads back as the same number: 1, 1.7, inf."""
    return repr(float(value)).removesuffix(".0")


@cache
def package(name: str) -> str:
    """Return the installed version of a package. Cached, because pages ask for it in every rerun."""
    return version(name)


def content_key(source: str | None, hypothesis: str, references: tuple[str, ...]) -> str:
    """Return the SHA-256 (hex) of the three texts. A missing source and an empty one have different keys."""
    return content_keys(source, references)(hypothesis)


def content_keys(source: str | None, references: tuple[str, ...]) -> Callable[[str], str]:
    """Return the function from a hypothesis to the content key that it has with this source and these references."""
    before = sha256(f"[{'null' if source is None else encode_basestring(source)},".encode("utf-8", "surrogatepass"))
    after = f",[{','.join(map(encode_basestring, references))}]]"  # all as json.dumps, three times as fast

    def key(hypothesis: str) -> str:
        digest = before.copy()
        digest.update((encode_basestring(hypothesis) + after).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    return key
