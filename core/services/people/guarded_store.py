"""Storage as one person may use it: each call is checked, and changes of projects are recorded.

A project in which the person has no role does not exist. Pages get storage only like this, so that no page, address or
button can show or change what the person must not see. `RULES` names every method of every port; a test fails for a new
method without a rule.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Mapping
from functools import cache
from typing import Any, cast

from core.ports.store import Store
from core.services.people.call_rules import (
    by_manager,
    by_server_manager,
    by_some_manager,
    cancel_job,
    change,
    create_project,
    delete_project,
    everyone,
    import_data,
    label_own,
    nobody,
    prioritize_job,
    read,
    read_entries,
    read_job,
    read_job_progress,
    record_own,
    revoke_link,
    visible_jobs,
    visible_projects,
    visible_raters,
)
from core.services.people.campaign_rules import (
    add_units,
    campaign_of_texts,
    change_campaign,
    change_participant,
    new_state,
    read_campaign,
    retired,
)
from core.services.people.guarded_call import CallRule, GuardedCall
from core.services.people.identity import Identity

RULES: Mapping[str, Mapping[str, CallRule]] = {
    "projects": {
        "list": visible_projects,
        "get": read,
        "create": create_project,
        "rename": change("project renamed", "name"),
        "delete": delete_project,
        "add": import_data,
        "dataset": read,
        "document": read,
        "index": read,
        "texts": read,
        "search": read,
        "human_score": read,
    },
    "exports": {"texts": read, "keys": read, "scores": read, "n_references": read, "most_references": read},
    "imports": {"add": import_data, "stored": read},
    "scores": {
        "known": everyone,
        "values": everyone,
        "put": by_some_manager,
        "newest": everyone,
        "signatures": read,
        "column": read,
        "table": read,
        "detail": read,
        "external": read,
        "remove_external": change("external scores deleted", "name"),
    },
    "jobs": {
        "enqueue": change("scoring started", "metrics"),
        "get": read_job,
        "recent": visible_jobs,
        "unfinished": visible_jobs,
        "cancel": cancel_job,
        "progress": read_job_progress,
        "prioritize": prioritize_job,
    },
    "labels": {
        "append": label_own,
        "append_valid": label_own,
        "events": read,
        "folded": read,
        "by_segment": read,
        "raters": visible_raters,
        "newest": read,
    },
    "calibrations": {
        "save": change("λ saved", "fitted"),
        "list": read,
        "delete": change("λ deleted", "name"),
    },
    "batches": {
        "save": change("calibration set saved", "batch"),
        "list": read,
        "archive": change("calibration set archived", "name"),
        "delete": change("calibration set deleted", "name"),
    },
    "judgements": {"list": read},
    "cases": {
        "keep": change("case saved", "case"),
        "list": read,
        "remove": change("case deleted", "case_id"),
    },
    "stress": {
        "save": change("stress test saved", "name"),
        "list": read,
        "report": read,
        "rename": change("stress test renamed", "name"),
        "delete": change("stress test deleted", "run_id"),
    },
    "timings": {"of": everyone, "add": by_some_manager},
    "settings": {"get": read, "put": change("setting changed", "name")},
    "people": {
        "accounts": by_some_manager,
        "add_account": by_server_manager,
        "password_hash": nobody,
        "set_password": by_server_manager,
        "set_active": by_server_manager,
        "roles": by_server_manager,
        "set_role": by_manager,
        "members": by_manager,
        "campaigns": nobody,
        "taking_part": by_manager,
        "start_session": nobody,
        "session": nobody,
        "end_session": nobody,
        "add_link": by_manager,
        "link": nobody,
        "links": by_manager,
        "has_link": by_server_manager,
        "revoke": revoke_link,
        "secret": everyone,  # the wiring makes tokens with it
    },
    "audit": {"record": record_own, "entries": read_entries},
    "campaigns": {
        "create": change("campaign created", "name"),
        "replace": change_campaign(lambda _: "campaign draft changed", "name"),
        "list": read,
        "has_any": read,
        "versions": read,
        "get": read_campaign,
        "of_texts": campaign_of_texts,
        "set_state": change_campaign(new_state),
        "delete": change_campaign(lambda _: "campaign deleted"),
        "units": read_campaign,
        "add_units": add_units,
        "retire": change_campaign(retired, "unit_ids"),
        "join": change_campaign(lambda _: "participant added", "rater"),
        "participants": read_campaign,
        "change": change_participant,
        "assignments": read_campaign,
        "remaining_work": read_campaign,
        "assign": nobody,
        "hand_over": change_campaign(lambda _: "campaign units handed over", "participant_id"),
        "touch": nobody,
    },
    "shared": {
        "add": change("result shared", "title", "blind"),
        "list": by_manager,
        "page": nobody,
        "revoke": change("shared result revoked", "shared_id"),
    },
    "chunks": dict.fromkeys(
        (
            "lease",
            "overtaken",
            "is_finished",
            "unfinished",
            "beat",
            "holds",
            "window",
            "items",
            "stream",
            "plan",
            "metrics",
            "abandon",
            "finish",
            "is_last",
            "is_outdated",
            "plan_again",
            "release",
            "release_all",
            "fail",
            "claim",
        ),
        nobody,
    ),
}


READING = {
    campaign_of_texts, everyone, nobody, read, read_campaign, read_entries, read_job, read_job_progress,
    visible_jobs, visible_projects, visible_raters,
}  # fmt: skip
"""Rules of methods that change nothing."""

KEPT: Mapping[str, frozenset[str]] = {
    "projects": frozenset({"list", "get"}),
    "scores": frozenset({"newest", "signatures", "external"}),
    "timings": frozenset({"of"}),
    "labels": frozenset({"raters", "newest"}),
    "calibrations": frozenset({"list"}),
    "campaigns": frozenset({"list", "has_any", "get", "units", "participants", "assignments"}),
}
"""Methods that several parts of a page call with the same arguments. Those of jobs are missing: workers change them all the time."""

_UNASKED = object()


def guarded(store: Store, who: Callable[[], Identity], answers: Callable[[], dict[Hashable, Any]] = dict) -> Store:
    """Return the store with a guard before every method. `who` is called each time: roles change while a page is open.

    `answers` returns the answers of the methods in `KEPT` that may be given again to the same person. A change empties them.
    """
    return Store(*(cast(Any, _GuardedPort(name, who, store, answers)) for name in Store._fields))


class _GuardedPort:
    """One port. Methods are found by name, because each has the same guard."""

    def __init__(
        self, port: str, who: Callable[[], Identity], store: Store, answers: Callable[[], dict[Hashable, Any]]
    ) -> None:
        self._port, self._who, self._store, self._answers = port, who, store, answers

    def __getattr__(self, name: str) -> Callable[..., Any]:
        rule = RULES[self._port].get(name)
        if rule is None:
            raise AttributeError(name)
        method = getattr(getattr(self._store, self._port), name)

        def call(*args: Any, **kwargs: Any) -> Any:
            given = _signature(getattr(method, "__func__", method)).bind(None, *args, **kwargs)
            given.apply_defaults()
            arguments = {k: v for k, v in given.arguments.items() if k != "self"}
            return rule(GuardedCall(self._who(), self._store, method, arguments))

        def ask_once(*args: Any, **kwargs: Any) -> Any:
            answers, key = self._answers(), (self._port, name, args, *kwargs.items())
            if (answer := answers.get(key, _UNASKED)) is _UNASKED:
                answer = answers[key] = call(*args, **kwargs)
            return answer.copy() if isinstance(answer, list) else answer

        def call_and_empty(*args: Any, **kwargs: Any) -> Any:
            try:
                return call(*args, **kwargs)
            finally:
                self._answers().clear()

        if rule not in READING:
            return call_and_empty
        return ask_once if name in KEPT.get(self._port, ()) else call


@cache
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)
