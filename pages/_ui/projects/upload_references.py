"""Human translations among the outputs, offered as references before an import that has none."""

from __future__ import annotations

import streamlit as st

from core.data import Dataset
from core.formats.notes import counts_of
from core.formats.role_names import is_human_name
from core.formats.streams.staged import StagedImport
from core.services.projects import references
from pages._ui.shared import drafts, page


def offer(dataset: Dataset | StagedImport, key: str) -> Dataset | StagedImport:
    """Draw the choice of systems whose outputs become references, if there are no references but systems named like human
    translations; return the dataset with the references chosen."""
    counts = dataset.counts() if isinstance(dataset, StagedImport) else counts_of(dataset)
    systems = tuple(counts.systems)
    if counts.references[1] or not any(map(is_human_name, systems)):
        return dataset
    human = next(filter(is_human_name, systems))
    chosen = st.multiselect(
        "Use the outputs of these systems as references", systems, [human],
        key=drafts.kept(f"{key}-as-references", [human], lambda names: set(names) <= set(systems)),
    )  # fmt: skip
    page.caption(
        f"The files have no references, but {human} is named like a human translation. It also stays a system of the project; "
        "Meta-evaluation leaves systems with such names out unless you choose otherwise."
    )
    if isinstance(dataset, StagedImport):
        return dataset.with_references(chosen) if chosen else dataset
    return references.with_references(dataset, chosen)
