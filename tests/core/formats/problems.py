"""The problems for which a file is refused."""

from collections.abc import Callable

import pytest

from core.errors import ImportProblems, Problem


def problems_of(read: Callable[..., object], *args: object, **named: object) -> tuple[Problem, ...]:
    """Return the problems that `read` raises with these arguments."""
    with pytest.raises(ImportProblems) as caught:
        read(*args, **named)
    return tuple(caught.value.problems)
