"""lemminflect's inflection dictionary, loaded without spaCy.

lemminflect imports spaCy, if installed, and with it torch, only to register extensions that are unused here. That would cost
seconds and 200 MB in processes that never parse a text.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from threading import RLock
from typing import Any

IMPORTING = RLock()
"""Held while spaCy is imported or its import is blocked."""


class _WithoutSpacy:
    """An import finder that hides spaCy."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == "spacy":
            raise ModuleNotFoundError("spaCy is not needed here", name=name)


@contextmanager
def _without_spacy() -> Iterator[None]:
    finder: Any = _WithoutSpacy
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


@cache
def dictionary() -> Any:
    """Return the module lemminflect."""
    with IMPORTING, _without_spacy():
        return import_module("lemminflect")
