"""Accounts with their roles, passwords and state, and the audit record."""

from __future__ import annotations

from collections.abc import Iterator

import streamlit as st

from core.errors import PROGRAM, UserError
from core.ports.people import Account, AuditEntry, Role
from core.ports.projects import Project
from core.services.people import accounts
from core.services.people.accounts import LONGEST_ACCOUNT, LONGEST_PASSWORD, SHORTEST
from pages._ui.shared import errors, page, state, wiring
from pages._ui.shared.markdown import escape_markdown
from pages._ui.shared.tables import text_table

ROLES: dict[Role | None, str] = {
    None: "No access",
    "viewer": "Viewer: sees everything",
    "annotator": "Annotator: sees outputs only",
    "adjudicator": "Adjudicator: sees everything, decides, labels",
    "manager": "Manager: changes everything",
}


def draw_accounts(project: Project | None) -> None:
    """Draw all accounts, and the form for a new one."""
    who, store = wiring.identity(), wiring.store()
    everyone = store.people.accounts()
    if not everyone:
        page.info(
            "This server has no accounts: whoever uses this machine manages everything. To let people log in, add a manager with "
            f"the command `{PROGRAM} users add NAME --manager`. From then on, everybody must log in."
        )
        return
    roles = {account.id: role for account, role in store.people.members(project.id)} if project else {}
    if who.manager:
        _add()
    for account in everyone:
        kind = " · manager of the server" * account.manager + " · :orange[disabled]" * (not account.active)
        with page.row(f"**{escape_markdown(account.name)}**{kind}"):
            if project is not None and not account.manager:
                _role(account, project, roles.get(account.id))
            if who.manager:
                with st.popover("Account", type="tertiary", key=f"access-account-{account.id}"), errors.boundary():
                    _settings(account)


def _role(account: Account, project: Project, role: Role | None) -> None:
    key, store = f"access-role-{project.id}-{account.id}", wiring.store()

    @errors.guarded
    def change() -> None:
        accounts.set_role(store, wiring.identity().who, project.id, account, st.session_state[key])

    if key not in st.session_state or st.session_state[key] != role:  # set here, because it may change elsewhere
        st.session_state[key] = role
    st.selectbox(
        escape_markdown(f"Role of {account.name} in {project.name}"), list(ROLES), format_func=ROLES.__getitem__,
        key=key, on_change=change, width=320, placeholder=ROLES[None],
    )  # fmt: skip


def _settings(account: Account) -> None:
    store, who, form = wiring.store(), wiring.identity().who, f"access-password-{account.id}"
    field = f"access-new-password-{account.id}"
    state.first_values(form, {field: ""})
    with st.form(form, border=False), errors.boundary():
        password = _password("New password", field)
        if st.form_submit_button("Set password", help="This ends all sessions of the account"):
            accounts.set_password(store, who, account, password)
            state.carried_out(form, "The password is set.")
    label = "Disable account" if account.active else "Enable account"
    if st.button(label, key=f"access-active-{account.id}"):
        accounts.set_active(store, who, account, not account.active)
        st.rerun()
    if account.active:
        st.caption("Disabling ends all sessions of the account. Its labels stay.")


def _add() -> None:
    st.subheader("New account", anchor=False)
    form = "access-add"
    state.first_values(form, {"access-add-name": "", "access-add-password": "", "access-add-manager": False})
    with st.form(form), errors.boundary():
        first, second = st.columns(2)
        name = first.text_input(
            "Name", max_chars=LONGEST_ACCOUNT, key="access-add-name",
            help="Labels are saved under this name. For login with OpenID Connect, the e-mail address.",
        )  # fmt: skip
        with second:
            password = _password("Password", "access-add-password")
        manager = st.checkbox("Manager of the server: every project and all accounts", key="access-add-manager")
        if st.form_submit_button("Add account", type="primary"):
            if not password and "@" not in name:
                raise UserError(
                    "the account has no password",
                    hint="Type one. Only accounts named by an e-mail address need no password",
                )
            added = accounts.add(wiring.store(), wiring.identity().who, name, password or None, manager=manager)
            state.carried_out(form, f"Added {escape_markdown(added.name)}.")


def _password(label: str, key: str) -> str:
    return st.text_input(
        label, type="password", max_chars=LONGEST_PASSWORD, key=key, autocomplete="new-password",
        help=f"{SHORTEST} characters or more. The person can log in with it at once.",
    )  # fmt: skip


AT_ONCE = 100
_SHOWN = "access-entries"


def draw_audit_record(project: Project | None) -> None:
    """Draw the entries of the open project; managers of the server can see all."""
    everything = project is None
    with st.container(horizontal=True, vertical_alignment="bottom"):
        filter_text = (
            st.text_input("Filter", placeholder="name or act", key="access-filter", width=280).casefold().strip()
        )
        if project is not None and wiring.identity().manager:
            everything = st.checkbox("All projects and accounts", key="access-everything")
    shown = int(st.session_state.get(_SHOWN, AT_ONCE))
    entries = list(_matching(None if everything or project is None else project.id, filter_text, shown + 1))
    if not entries:
        page.info("No entry contains this." if filter_text else "Nothing is recorded yet.")
        return
    names = {p.id: p.name for p in wiring.store().projects.list()}
    text_table([_record_row(entry, names, everything) for entry in entries[:shown]])
    if len(entries) > shown:
        st.button("Show older entries", on_click=lambda: st.session_state.update({_SHOWN: shown + AT_ONCE}))


def _matching(project_id: int | None, filter_text: str, most: int) -> Iterator[AuditEntry]:
    """Yield at most `most` entries whose name, act or details contain the text."""
    audit, before, n = wiring.store().audit, None, 0
    while entries := audit.entries(project_id, before=before):
        for entry in entries:
            if filter_text in f"{entry.who}\n{entry.act}\n{_details(entry)}".casefold():
                yield entry
                n += 1
                if n == most:
                    return
        before = entries[-1].number


def _record_row(entry: AuditEntry, names: dict[int, str], everything: bool) -> dict[str, str]:
    where = "" if entry.project_id is None else names.get(entry.project_id, f"deleted project {entry.project_id}")
    row = {"Time": page.moment(entry.time, "%Y-%m-%d %H:%M:%S"), "Who": entry.who, "Act": entry.act}
    return row | ({"Project": where} if everything else {}) | {"Details": _details(entry)}


def _details(entry: AuditEntry) -> str:
    shown = {name.replace("_", " "): value for name, value in entry.details.items() if value is not None}
    return ", ".join(f"{name}: {', '.join(map(str, v)) if isinstance(v, list) else v}" for name, v in shown.items())
