"""Storage as one person may use it: each call is checked by the rule of its method (`core.ports.rules`), and changes are recorded.

Pages and the routes that a person calls get storage only like this, so that no page, address or button can show or change what the person
must not see. Workers, commands, login and public links have storage without a guard: they act for the server.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Mapping
from functools import cache, partial
from typing import Any, NamedTuple, cast, get_type_hints

from core.ports.campaigns import Campaign
from core.ports.people import Identity
from core.ports.rules import Rule, StorageCall, rule_of
from core.ports.store import Store

_PORTS: Mapping[str, type] = get_type_hints(Store)
_UNASKED = object()


def guarded(
    store: Store, who: Callable[[], Identity], answers: Callable[[], dict[Hashable, Any]] = dict, *, tasks: bool = False
) -> Store:
    """Return the store with a guard before every method. `who` is called each time: roles change while a page is open.

    `answers` returns the answers that may be given again to the same person (`Rule.keeps`). A change empties them. With `tasks`, the person
    may also do what a route does for the tasks of an annotator, under no other name.
    """
    guard = _Guard(store, who, answers, tasks, {})
    return Store(*(cast(Any, _GuardedPort(guard, name, port)) for name, port in _PORTS.items()))


def decide(rule: Rule, call: StorageCall) -> Any:
    """Return what the method returns. Raises `NotAllowed` unless the person may call it."""
    if call.tasks and rule.tasks != "none" and call.is_own_task(rule.tasks):
        return call.run()
    return rule.decide(call)


class _Guard(NamedTuple):
    store: Store
    who: Callable[[], Identity]
    answers: Callable[[], dict[Hashable, Any]]
    tasks: bool
    known: dict[int, Campaign]


class _GuardedPort:
    """One port. Only methods with a rule can be found."""

    def __init__(self, guard: _Guard, name: str, port: type) -> None:
        self._guard, self._name, self._port = guard, name, port

    def __getattr__(self, name: str) -> Callable[..., Any]:
        rule = rule_of(self._port, name)
        if rule is None:
            raise AttributeError(name)
        guard, method = self._guard, getattr(getattr(self._guard.store, self._name), name)
        declared = _signature(getattr(self._port, name))

        def call(*args: Any, **kwargs: Any) -> Any:
            bound = declared.bind(None, *args, **kwargs)
            bound.apply_defaults()
            run = partial(method, *args, **kwargs)
            return decide(rule, StorageCall(guard.who(), guard.store, run, bound.arguments, guard.known, guard.tasks))

        def ask_once(*args: Any, **kwargs: Any) -> Any:
            answers, key = guard.answers(), (self._name, name, args, *kwargs.items())
            if (answer := answers.get(key, _UNASKED)) is _UNASKED:
                answer = answers[key] = call(*args, **kwargs)
            return answer.copy() if isinstance(answer, list) else answer

        def call_and_empty(*args: Any, **kwargs: Any) -> Any:
            try:
                return call(*args, **kwargs)
            finally:
                guard.answers().clear()

        if not rule.reads:
            return call_and_empty
        return ask_once if rule.keeps else call


@cache
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)
