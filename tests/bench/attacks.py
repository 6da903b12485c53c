"""Attacks on running servers, each of which must be refused or lose nothing: `python -m tests.bench.attacks [NAME …]`.

Two real servers are started on free ports, each with a database of its own: one with accounts, links and campaigns, one without accounts.
Each line says what was tried (after the row of the list of faults), what was answered, and `refused` or `0 lost`. The exit status is 1 if a
line ends with anything else. `tests.bench.saves` measures a busy server.
"""

from __future__ import annotations

import argparse
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import httpx
import psutil
from playwright.sync_api import expect, sync_playwright
from sqlalchemy import update

from core.campaigns.protocol import PROTOCOLS
from core.services.people import accounts
from core.services.people.sessions import SESSION_COOKIE
from db.columns import now
from db.engine import connect, writing
from db.imports.slices import INTERRUPTED_SECONDS
from db.tables import projects
from tests.bench.attack_site import (  # fmt: skip
    FORM_TOKEN,
    PATIENCE,
    Annotator,
    Site,
    bombs,
    log_in,
    memory,
    prepared,
    status_of,
    verdict,
)
from tests.browser.conftest import CHROMIUM, PASSWORD, QUIET
from tests.paths import ROOT

MOST_HELD = 5.0
"""Seconds that a save of somebody else may take during an attack, also on a machine that others use."""
MEMORY = 400 << 20
"""Bytes by which a server may grow while it refuses a file."""
PROTECTED = "/api/projects/1/exports/outputs-csv /metrics / /t/x /tasks/1 /assets/task.js /_stcore/host-config".split()


Attack = Callable[[Site], tuple[str, bool | int]]
"""Returns what was answered, and whether the attack was refused or how much was lost."""
ATTACKS: dict[str, tuple[str, Attack]] = {}


def attack(tried: str) -> Callable[[Attack], Attack]:
    def added(function: Attack) -> Attack:
        ATTACKS[function.__name__] = tried, function
        return function

    return added


@attack("17 labels of three links of one name, to a project and two calibration sets of it, kept apart in a browser")
def outboxes(site: Site) -> tuple[str, int]:
    for name in ("one", "two"):
        site.calibration_set(name)
    boxes = {site.annotator("Cy", batch=batch).unit()["outbox"] for batch in (None, "one", "two")}
    return f"{len(boxes)} outboxes", 3 - len(boxes)


@attack("17 a calibration set deleted and made again under its name, with other outputs")
def set_made_again(site: Site) -> tuple[str, int]:
    saved, holder = list[str](), list[Annotator]()
    for first in (0, 6):
        site.calibration_set("again", first)
        (who,) = holder = holder or [site.annotator("Di", batch="again")]
        unit = who.unit()
        saved += who.send(unit, verdict(unit)).json()["acknowledged"]
        site.store.batches.delete(site.project, "again")
    return f"{len(saved)} of 2 labels saved", 2 - len(saved)


@attack("18 6,000 and 12,000 actions in one batch")
def batch(site: Site) -> tuple[str, bool]:
    answers, most = zip(*(_many_actions(site, n, n) for n in (6_000, 12_000)), strict=True)
    said = [f"{a.status_code} {a.json()['error'].partition('. ')[0]}" for a in answers]
    fine = {a.status_code for a in answers} == {422} and max(most) < MOST_HELD
    return f"{'; '.join(said)}; other saves took at most {max(most) * 1000:.0f} ms", fine


@attack("18 6,000 and 12,000 actions in one request of batches of 200")
def request(site: Site) -> tuple[str, int]:
    answers, most = zip(*(_many_actions(site, n, 200) for n in (6_000, 12_000)), strict=True)
    stored = {event.action.id for event in site.store.labels.events(site.project)}
    saved, not_saved = ([name for a in answers for name in a.json()[key]] for key in ("acknowledged", "refused"))
    lost = sum(name not in stored for name in saved) + 18_000 - len(saved) - len(not_saved)
    said = f"{len(saved):,} saved, {len(not_saved):,} refused with a reason; other saves took at most {max(most) * 1000:.0f} ms"
    return said, lost + (max(most) >= MOST_HELD)


def _many_actions(site: Site, n: int, size: int) -> tuple[httpx.Response, float]:
    attacker = site.annotator()
    unit = attacker.unit()
    with site.beside() as took:
        answer = attacker.send(unit, *(verdict(unit, i) for i in range(n)), size=size)
    return answer, max(took)


@attack("19 two Parquet bombs sent by a viewer")
def bomb_of_viewer(site: Site) -> tuple[str, bool]:
    address = f"{site.server.url}/_stcore/upload_file/{uuid.uuid4()}/{uuid.uuid4()}"
    answers = [httpx.put(address, files={"file": of}, headers=site.cookie("vera")) for of in bombs().items()]
    return "; ".join({f"{a.status_code} {a.text}" for a in answers}), {a.status_code for a in answers} == {403}


@attack("19 two Parquet bombs on the page of a manager")
def bomb_on_page(site: Site) -> tuple[str, bool]:
    assert site.server.process is not None
    said, process, done = list[str](), psutil.Process(site.server.process.pid), threading.Event()
    sizes = [memory(process)]

    def watch() -> None:
        while not done.wait(0.05):
            sizes.append(memory(process))

    thread = threading.Thread(target=watch)
    thread.start()
    for name, data in bombs().items():
        context = site.browser.new_context()
        context.add_cookies([{"name": SESSION_COOKIE, "value": site.session("ann"), "url": site.server.url}])
        page = context.new_page()
        page.goto(f"{site.server.url}/?project={site.project}")
        page.get_by_role("button", name="Upload outputs").click()
        given = {"name": name, "mimeType": "application/octet-stream", "buffer": data}
        page.locator("input[type=file]").first.set_input_files(given)  # type: ignore[arg-type]
        expect(page.get_by_text("at most").first).to_be_visible(timeout=PATIENCE * 1000)
        shown = page.get_by_test_id("stMain").inner_text().partition("what to do")[2].split()
        said.append(f"{len(data) / 1000:.0f} kB: {' '.join(shown)[:90]}")
        context.close()
    done.set()
    thread.join()
    grown = max(sizes) - sizes[0]
    fine = grown < MEMORY and all("at most" in text for text in said)
    return f"{'; '.join(said)}; {grown / 1e6:.0f} MB more memory", fine


@attack(f"20 without accounts, a proxy that writes this machine's name into Host asks for {len(PROTECTED)} addresses")
def proxy(site: Site) -> tuple[str, bool]:
    kinds = {
        "HTTP/1.0 (nginx)": ("1.0", ()),
        "Forwarded": ("1.1", ("Forwarded: for=127.0.0.1",)),
        "X-Forwarded-For and -Proto": ("1.1", ("X-Forwarded-For: 127.0.0.1", "X-Forwarded-Proto: http")),
        "X-Real-IP": ("1.1", ("X-Real-IP: 127.0.0.1",)),
    }
    found = {name: {status_of(site.plain.port, path, *kind) for path in PROTECTED} for name, kind in kinds.items()}
    direct = status_of(site.plain.port, PROTECTED[0], "1.1")
    said = "; ".join(f"{name}: {sorted(of)}" for name, of in found.items())
    return f"{said}; without a proxy: {direct}", set().union(*found.values()) == {403} and direct == 200


@attack("20 a foreign name that points to this machine")
def foreign_name(site: Site) -> tuple[str, bool]:
    statuses = {status_of(site.plain.port, path, "1.1", host="evil.example") for path in PROTECTED}
    return str(sorted(statuses)), statuses == {421}


@attack("21 an import into an existing empty project, killed; what is there after a minute and a restart")
def killed_import(site: Site) -> tuple[str, int]:
    store, url = site.store, site.server.environ["ERRORSCOPE_DB"]
    project = store.projects.create("kept project").id
    accounts.set_role(store, "bench", project, accounts.find(store.people, "vera"), "viewer")
    store.settings.put(project, "note", {"kept": True})
    someone = site.annotator("Eve", project)

    def shown() -> bool:
        return any(p.id == project and p.n_outputs == 0 for p in store.projects.list())

    with tempfile.NamedTemporaryFile("w", suffix=".csv") as table:
        table.write("doc_id,segment_id,system,output\n")
        table.writelines(f"d,{n},A,Output number {n}.\n" for n in range(60_000))
        table.flush()
        command = [
            sys.executable,
            "-m",
            "cli",
            "projects",
            "--database",
            url,
            "import",
            table.name,
            "--into",
            str(project),
        ]
        importing = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while importing.poll() is None and shown():
            time.sleep(0.005)
        time.sleep(0.2)
        importing.kill()
        killed = importing.wait() == -signal.SIGKILL and not shown()
    with writing(connect(url)) as connection:  # as if the time had passed
        old = now() - timedelta(seconds=INTERRUPTED_SECONDS + 5)
        connection.execute(update(projects).where(projects.c.id == project).values(importing=old))
    site.server.kill()
    site.server.start()
    someone.client.get(f"/t/{someone.token}")  # the first request opens the database, which begins the clean-up
    deadline = time.monotonic() + PATIENCE
    while not shown() and time.monotonic() < deadline:
        time.sleep(0.2)
    left = {
        "killed within the import": killed,
        "project": shown(),
        "role": [role for _, role in store.people.members(project)] == ["viewer"],
        "setting": store.settings.get(project, "note") == {"kept": True},
        "link": someone.client.get(f"/t/{someone.token}").status_code == 200,
        "audit entry": "interrupted import removed" in [entry.act for entry in store.audit.entries(project)],
    }
    said = ", ".join(f"{name} {'✓' if fine else 'MISSING'}" for name, fine in left.items())
    return said, len(left) - sum(left.values())


@attack("22 HEAD and GET of a personal link by a scanner of mail")
def scanner(site: Site) -> tuple[str, int]:
    campaign, (first, second) = site.campaign("leases", PROTOCOLS["esa"], "Flo", "Gus", block_size=100)
    asked = [first.client.request(method, f"/t/{first.token}") for method in ("HEAD", "GET", "GET")]
    taken = len(site.store.campaigns.assignments(campaign.id)) + len(site.store.labels.events(campaign.texts))
    total = second.unit().get("total", 0)
    statuses = sorted({a.status_code for a in asked})
    return f"{statuses}; {taken} units leased or opened; somebody else gets {total} units", taken + (not total)


@attack("23 telling attention checks of pairs from other pairs by what is shown beside them")
def checks(site: Site) -> tuple[str, bool]:
    campaign, (who,) = site.campaign("pairs", PROTOCOLS["pairwise"], "Hal", checks=0.3)
    kinds, context = {unit.name: unit.kind for unit in site.store.campaigns.units(campaign.id)}, dict[str, list[bool]]()
    for _ in kinds:
        unit = who.unit(step="unlabelled")
        context.setdefault(kinds[unit["doc"]], []).append(any(o["before"] or o["after"] for o in unit["outputs"]))
        prefer = verdict(unit) | {"kind": "prefer", "output": None, "payload": {"winner": unit["outputs"][0]["id"]}}
        who.send(unit, prefer, verdict(unit) | {"kind": "submit", "output": None, "payload": {}})
    without = ", ".join(f"{of.count(False)} of {len(of)} {kind}s" for kind, of in sorted(context.items()))
    return f"without context: {without}", "check" in context and all(map(all, context.values()))


@attack("23 guessing passwords of a name, to keep its owner out")
def lock_out(site: Site) -> tuple[str, bool]:
    owner, attacker = (httpx.Client(base_url=site.server.url, timeout=PATIENCE) for _ in range(2))
    first = log_in(owner, "ann", PASSWORD).status_code
    guesses = [log_in(attacker, "ann", f"guess {n}").status_code for n in range(9)]
    owner.post("/logout")
    again = log_in(owner, "ann", PASSWORD).status_code
    said = f"guesses {guesses}; the owner, in a browser that has logged in before, {again}"
    return said, (first, again, guesses[-1]) == (303, 303, 429)


@attack("23 login, logout and a save while another program locks the database")
def locked_database(site: Site) -> tuple[str, int]:
    who, session = site.annotator(), site.cookie("ann")
    unit = who.unit()
    action, browser = verdict(unit), httpx.Client(base_url=site.server.url, timeout=PATIENCE)
    other = sqlite3.connect(site.server.environ["ERRORSCOPE_DB"].removeprefix("sqlite:///"), timeout=PATIENCE)
    other.execute("BEGIN IMMEDIATE")
    with ThreadPoolExecutor(3) as pool:
        login = pool.submit(log_in, browser, "vera", PASSWORD)
        logout = pool.submit(httpx.post, f"{site.server.url}/logout", headers=session, timeout=PATIENCE)
        answers = [one.result() for one in (login, logout, pool.submit(who.send, unit, action))]
    other.close()
    saved, statuses = who.send(unit, action).json()["acknowledged"], [a.status_code for a in answers]
    reasons = sum("locked by another program" in a.text for a in answers)
    lost = 1 - len(saved) + (statuses != [503, 503, 200]) + 3 - reasons
    return f"{statuses}, {reasons} of 3 with the reason; {len(saved)} of 1 labels saved afterwards", lost


@attack("23 60 logins at the same moment")
def logins(site: Site) -> tuple[str, bool]:
    browser = httpx.Client(base_url=site.server.url, timeout=PATIENCE)
    with site.beside() as took, ThreadPoolExecutor(60) as pool:
        token = FORM_TOKEN.findall(browser.get("/login").text)[0]
        statuses = Counter(pool.map(lambda n: log_in(browser, f"name {n}", "x", token).status_code, range(60)))
    fine = set(statuses) <= {401, 429} and max(took) < MOST_HELD
    return f"{dict(statuses)}; other saves took at most {max(took) * 1000:.0f} ms", fine


@attack("23 links to other programs in the instructions of a campaign")
def instructions(site: Site) -> tuple[str, bool]:
    addresses = ("ftp://x.example", "blob:x", "ms-word:ofe|u|x", "javascript:alert(1)", "https://example.org")
    shown = PROTOCOLS["esa"].edited(instructions=" ".join(f"[guide]({address})" for address in addresses))
    _, (who,) = site.campaign("linked", shown, "Kim")
    page = who.client.get(f"/t/{who.token}").text
    found = [address for address in addresses if f'href="{address}"' in page]
    return f"links to {found}, not to the other {len(addresses) - len(found)}", found == ["https://example.org"]


@attack("23 eval on pages, inline styles on the pages of annotators")
def policies(site: Site) -> tuple[str, bool]:
    who, session = site.annotator(), site.cookie("ann")
    answers = [httpx.get(site.server.url, headers=session), who.client.get(f"/t/{who.token}")]
    pages, annotators = (a.headers["content-security-policy"] for a in answers)
    said = [
        part.strip()
        for policy in (pages, annotators)
        for part in policy.split(";")
        if "script-src" in part or "style-src" in part
    ]
    return "; ".join(said), "'unsafe-eval'" not in pages + annotators and "'unsafe-inline'" not in annotators


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", metavar="NAME", nargs="*", help=f"one of {', '.join(ATTACKS)}; all without")
    chosen = parser.parse_args().names or list(ATTACKS)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the servers end too
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="errorscope-attacks-") as home, sync_playwright() as playwright:
        site = prepared(Path(home), playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET))
        try:
            site.server.start()
            site.plain.start()
            for tried, function in (ATTACKS[name] for name in chosen):
                try:
                    said, result = function(site)
                except Exception as error:
                    said, result = f"{type(error).__name__}: {error}", False
                end = f"{result} lost" if not isinstance(result, bool) else "refused" if result else "NOT REFUSED"
                wrong += end not in ("refused", "0 lost")
                print(f"{tried}: {said}: {end}", flush=True)
        finally:
            site.server.kill()
            site.plain.kill()
    print(f"{len(chosen) - wrong} of {len(chosen)} attacks were refused or lost nothing")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
