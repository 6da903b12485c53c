"""A server with accounts: a project with everything the pages show, people of each role, and who looks at the pages."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import pytest
from streamlit.runtime.context import ContextProxy
from streamlit.runtime.scriptrunner import get_script_run_ctx

from core.data import Dataset, HumanScore, Item, Value
from core.metrics import registry
from core.ports.campaigns import Campaign
from core.ports.people import Role
from core.ports.robustness import KeptCase, SavedScore
from core.ports.store import Store
from core.refine.result import weighted
from core.robustness.stress.report import as_json
from core.services.people import accounts, sessions
from core.services.people.sessions import SESSION_COOKIE
from core.services.robustness.stress_test_runs import run_settings
from tests.core.services.campaigns import filled
from tests.reports import report
from tests.stores import put_scores

PASSWORD = "correct horse battery"
ROLES: dict[str, Role] = {"mia": "manager", "adam": "adjudicator", "vera": "viewer", "anton": "annotator"}
"""The role of each account in the project; ann manages the server."""


class TeamServer(NamedTuple):
    """The project of the campaign has scores, human scores, labels, a saved λ, a stress test and a saved case."""

    store: Store
    campaign: Campaign
    run: int

    @property
    def project(self) -> int:
        return self.campaign.project_id


def texts() -> Dataset:
    """Two documents with references and two human scores, and outputs of three systems."""
    plain = filled.texts(2, 4)
    segments = tuple(replace(s, references=(f"A reference {n}.",)) for n, s in enumerate(plain.segments))
    human = tuple(
        HumanScore(o.system, o.doc_id, o.segment_id, name, float((7 * n + k) % 23))
        for n, o in enumerate(plain.outputs)
        for k, name in enumerate(("fluency", "meaning"))
    )
    return Dataset(segments, plain.outputs, human)


def _score(metric: int, n: int, item: Item) -> Value:
    if metric < 2:
        return Value(float((5 * n + metric) % 19))
    parts = (0.1 * (n % 7), 0.03 * ((11 * n) % 17))
    return Value(
        weighted(*parts, 1.0), parts={"dist_exp": parts[0], "dist_imp": parts[1], "score_hyp": -sum(parts) - 0.2}
    )


def serve(store: Store) -> TeamServer:
    """Fill the store."""
    data = texts()
    campaign = filled.started(store, people=("Ana", "Ben", "Chi"), dataset=data, block_size=3)
    filled.work(store, campaign, share=0.75, per_day=3)
    project = campaign.project_id
    for k, metric in enumerate(("chrf", "rouge1", "bartscore++")):
        put_scores(store, project, metric, partial(_score, k))
    for of in (campaign.id, None):
        store.shared.add(project, of, "Shared", False, "<html>", f"{of}".rjust(64, "0"), "test")
    run = store.stress.save(project, "By hand", as_json(report()), run_settings(report())).id
    case = SavedScore("chrf", registry.load_metric("chrf").signature(), True, 0.4, 0.6)
    store.cases.keep(project, KeptCase("first", "negation", None, "It is.", "It is.", "It is not.", scores=(case,)))
    accounts.add(store, "test", "ann", PASSWORD, manager=True)
    for name, role in ROLES.items():
        accounts.set_role(store, "test", project, accounts.add(store, "test", name, PASSWORD, manager=False), role)
    return TeamServer(store, store.campaigns.get(campaign.id), run)


def log_in(store: Store, patch: pytest.MonkeyPatch, name: str) -> str:
    """Let the browser of the pages have the login cookie of this account, and return it. It is known in runs of pages only."""
    token = sessions.start(store, accounts.find(store.people, name)).token

    def cookies(_: ContextProxy) -> dict[str, str]:
        return {SESSION_COOKIE: token} if get_script_run_ctx(suppress_warning=True) else {}

    patch.setattr(ContextProxy, "cookies", property(cookies))
    return token
