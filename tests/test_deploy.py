"""The files in deploy/ agree with each other, with the routes and with the documentation. Docker is not needed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from api.access import OPEN, is_local_address
from api.documentation import routes
from core.settings import Settings, load_access, load_limits, load_settings
from tests.paths import ROOT

FOLDER = ROOT / "deploy"
COMPOSE = (FOLDER / "compose.yaml").read_text(encoding="utf-8")
CADDYFILE = (FOLDER / "Caddyfile").read_text(encoding="utf-8")
DOCKERFILE = (FOLDER / "Dockerfile").read_text(encoding="utf-8")
PAGE = (ROOT / "docs/deployment.md").read_text(encoding="utf-8")
VARIABLE = re.compile(r"\$\{([A-Z0-9_]+)(?::([-?])([^}]*))?\}")
EXAMPLE = dict(
    line.split("=", 1)
    for line in (FOLDER / ".env.example").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
)
SECRETS = ("POSTGRES_PASSWORD", "ERRORSCOPE_METRICS_TOKEN")
OURS = ("app", "worker")


def composed(**given: str) -> dict[str, Any]:
    """Return the services as Compose reads them, with these values in .env."""

    def value(found: re.Match[str]) -> str:
        name, kind, rest = found.groups()
        if given.get(name):
            return given[name]
        assert kind != "?", f"{name} is required"
        return rest or ""

    def filled(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: filled(inner) for key, inner in part.items()}
        if isinstance(part, list):
            return [filled(inner) for inner in part]
        return VARIABLE.sub(value, part) if isinstance(part, str) else part

    read: dict[str, Any] = filled(yaml.safe_load(COMPOSE))
    return read


FILLED = composed(ERRORSCOPE_HOSTS="a.example.org, b.example.org", POSTGRES_PASSWORD="chosen")
SERVICES: dict[str, dict[str, Any]] = FILLED["services"]


def test_compose_reads_the_file_as_these_tests_do() -> None:
    docker = shutil.which("docker")
    if not docker or subprocess.run([docker, "compose", "version"], capture_output=True, check=False).returncode:
        pytest.skip("Docker Compose is not installed here")
    command = [docker, "compose", "--env-file", "/dev/null", "--file", "compose.yaml", "config", "--format", "json"]
    given = {
        "PATH": os.environ["PATH"],
        "ERRORSCOPE_HOSTS": "a.example.org, b.example.org",
        "POSTGRES_PASSWORD": "chosen",
    }
    read = subprocess.run(command, cwd=FOLDER, env=given, capture_output=True, text=True, check=True).stdout
    environments = {name: service.get("environment", {}) for name, service in json.loads(read)["services"].items()}
    assert environments == {name: service.get("environment", {}) for name, service in SERVICES.items()}


def test_every_variable_is_in_the_example_and_documented() -> None:
    used = {found[1] for found in VARIABLE.finditer(COMPOSE)}
    assert used == set(EXAMPLE)
    assert [name for name in used if f"`{name}`" not in PAGE] == []


def test_the_page_and_the_example_state_the_defaults() -> None:
    defaults = {found[1]: found[3] for found in VARIABLE.finditer(COMPOSE) if found[2] == "-" and found[3]}
    assert defaults | {"ERRORSCOPE_MAX_TEXT_MB": "500"} == {
        name: value for name, value in EXAMPLE.items() if name in defaults or value
    }
    assert [name for name, value in defaults.items() if not re.search(rf"\| `{name}` \| `?{value}`? \|", PAGE)] == []


def test_secrets_have_no_default_anywhere() -> None:
    assert [EXAMPLE[name] for name in SECRETS] == ["", ""]
    for found in VARIABLE.finditer(COMPOSE):
        assert found[1] not in SECRETS or found[2] == "?" or not found[3]
    for name, service in SERVICES.items():
        for key, value in service.get("environment", {}).items():
            if re.search("PASSWORD|TOKEN|SECRET", key):
                assert value in ("chosen", ""), (name, key)
    assert not re.search(r"://[^/\s]*:[^/\s]*@", COMPOSE)
    assert not re.search("(?i)password|token|secret", DOCKERFILE)


@pytest.mark.parametrize("missing", ["ERRORSCOPE_HOSTS", "POSTGRES_PASSWORD"])
def test_the_example_alone_does_not_start(missing: str) -> None:
    given = {"ERRORSCOPE_HOSTS": "a.example.org", "POSTGRES_PASSWORD": "chosen"} | {missing: ""}
    with pytest.raises(AssertionError, match=missing):
        composed(**given)


def test_the_app_requires_accounts_and_serves_the_names() -> None:
    environ = SERVICES["app"]["environment"]
    access = load_access(environ)
    assert access.team
    assert access.hosts == ("a.example.org", "b.example.org")
    assert not is_local_address(environ["STREAMLIT_SERVER_ADDRESS"])
    assert load_settings(environ).worker == "off"
    assert SERVICES["caddy"]["environment"]["ERRORSCOPE_HOSTS"] == environ["ERRORSCOPE_HOSTS"]


def test_only_the_network_of_caddy_is_trusted() -> None:
    [network] = FILLED["networks"]["front"]["ipam"]["config"]
    assert SERVICES["app"]["environment"]["FORWARDED_ALLOW_IPS"] == network["subnet"]
    assert {name for name, service in SERVICES.items() if "front" in service["networks"]} == {"caddy", "app"}
    assert {name for name, service in SERVICES.items() if "ports" in service} == {"caddy"}
    assert FILLED["networks"]["back"]["internal"] is True


def test_all_processes_use_one_database_and_the_same_models() -> None:
    shared = [SERVICES[name]["environment"] for name in OURS]
    named = {name: name.removeprefix("ERRORSCOPE_").lower() for name in EXAMPLE if name.startswith("ERRORSCOPE_")}
    models = [name for name, field in named.items() if field in Settings.__dataclass_fields__ and field != "stall"]
    assert len(models) == 10
    for name in ("ERRORSCOPE_DB", "PGPASSWORD", "ERRORSCOPE_HOME", *models):
        assert len({environ[name] for environ in shared}) == 1
    assert load_settings(shared[0]).database.startswith("postgresql+psycopg://errorscope@db/")
    assert SERVICES["db"]["environment"]["POSTGRES_PASSWORD"] == shared[0]["PGPASSWORD"]
    assert load_settings(shared[0]).encoder == "minilm"


def test_ports_and_health_checks_lead_somewhere() -> None:
    paths = {route.path for route in routes()}
    [checked] = re.findall(r"http://127\.0\.0\.1:(\d+)(/\w+)", DOCKERFILE)
    port = SERVICES["app"]["environment"]["STREAMLIT_SERVER_PORT"]
    assert checked == (port, "/readyz")
    assert re.findall(r"(?m)^\s*port (\d+)", CADDYFILE) == [port]
    assert re.findall(r"(?m)^\s*name (\w+)", CADDYFILE) == ["app"]
    for path in ("/healthz", "/readyz", "/metrics"):
        assert path in paths
        assert path in OPEN
        assert f"`{path}`" in PAGE


def test_the_proxy_keeps_a_browser_at_one_process() -> None:
    assert re.search(r"lb_policy cookie (\w+)", CADDYFILE)[1] in PAGE  # type: ignore[index]
    assert CADDYFILE.count("{") == CADDYFILE.count("}")
    given = set(re.findall(r"\{\$(\w+)\}", CADDYFILE))
    assert given == set(SERVICES["caddy"]["environment"])


def test_the_proxy_passes_the_largest_upload() -> None:
    assert int(EXAMPLE["BODY_MAX_MB"]) > load_limits({}).text_mb == int(EXAMPLE["ERRORSCOPE_MAX_TEXT_MB"])


def test_our_images_are_built_here_and_have_few_rights() -> None:
    assert re.findall(r"^USER (\w+)", DOCKERFILE, re.MULTILINE) == ["errorscope"]
    for name in OURS:
        assert SERVICES[name]["pull_policy"] == "never"
        assert SERVICES[name]["cap_drop"] == ["ALL"]
    for name in ("caddy", "db", "backup"):
        assert re.fullmatch(r"\w+:\d[\w.-]*", SERVICES[name]["image"]), "a version is named"
    assert SERVICES["db"]["image"].startswith("postgres:15")


def test_the_image_installs_the_lock_files_with_the_makefile() -> None:
    copied = re.search(r"^COPY (Makefile .+) \./$", DOCKERFILE, re.MULTILINE)
    assert copied
    needed = re.search(r"^\$\(VENV\)/ready: (.+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert needed
    assert set(copied[1].split()) == set(needed[1].split())
    assert not re.search(r"\bpip install\b", DOCKERFILE)
    wheel = re.search(r"CPython (\d\.\d+)", (ROOT / ".ci/lock.py").read_text(encoding="utf-8"))
    assert wheel
    assert set(re.findall(r"^FROM python:(\d\.\d+)", DOCKERFILE, re.MULTILINE)) == {wheel[1]}


def test_the_image_has_the_program_and_no_secrets() -> None:
    lines = (FOLDER / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    assert next(line for line in lines if not line.startswith("#")) == "*"
    kept = [line[1:] for line in lines if line.startswith("!")]
    assert [name for name in kept if not (ROOT / name).exists()] == []
    assert {"app.py", "api", "cli", "core", "db", "pages", ".streamlit/config.toml"} <= set(kept)
    assert ".streamlit/*" in lines
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert {"/deploy/.env", "/deploy/secrets.toml"} <= set(ignored)


def test_the_page_names_the_command_for_the_first_manager() -> None:
    assert "docker compose run --rm app errorscope users add ann --manager" in PAGE


def test_commands_of_a_restore_do_not_start_the_app() -> None:
    [command] = [line for line in PAGE.splitlines() if re.match(r"docker compose run .*\bbackup\b", line)]
    assert "--no-deps" in command


PROGRAMS = {
    "pg_dump": 'echo "pg_dump $PGDATABASE" >> "$LOG"; [ ! -e "$BACKUP_FOLDER/fails" ] && touch "${2#--file=}"',
    "pg_restore": 'echo "pg_restore $1" >> "$LOG"',
    "sleep": 'echo "sleep $1" >> "$LOG"; kill -TERM $PPID',
}


def nightly(folder: Path, keep: str = "2", at: str = "02:30") -> tuple[list[str], str]:
    """Run the service `backup` until it sleeps, with other programs in place of PostgreSQL's; return what it ran, and errors."""
    programs, log = folder / "bin", folder / "log"
    programs.mkdir(exist_ok=True)
    log.write_text("")
    for name, text in PROGRAMS.items():
        (programs / name).write_text(f"#!/bin/bash\n{text}\n")
        (programs / name).chmod(0o755)
    given = {
        "PATH": f"{programs}:{os.environ['PATH']}", "BACKUP_FOLDER": str(folder), "LOG": str(log), "PGDATABASE": "errorscope",
        "BACKUP_KEEP": keep, "BACKUP_TIME": at,
    }  # fmt: skip
    done = subprocess.run(["bash", str(FOLDER / "backup.sh")], env=given, capture_output=True, text=True, check=False)
    return log.read_text().splitlines(), done.stderr


def test_backups_are_written_and_the_newest_kept(tmp_path: Path) -> None:
    assert SERVICES["backup"]["volumes"][0] == "./backup.sh:/backup.sh:ro"
    assert SERVICES["backup"]["environment"]["PGPASSWORD"] == "chosen"
    old = [tmp_path / f"errorscope-2026112{day}T023000Z.dump" for day in range(3)]
    for path in (*old, tmp_path / "mine.dump"):
        path.touch()
        os.utime(path, (0, 0))
    ran, _ = nightly(tmp_path)
    assert ran[:2] == ["pg_dump errorscope", "pg_restore --list"]
    assert 0 < int(ran[2].removeprefix("sleep ")) <= 86400
    kept = sorted(path.name for path in tmp_path.glob("*.dump"))
    assert len(kept) == 3
    assert kept[0] == old[-1].name
    assert kept[-1] == "mine.dump"
    ran, _ = nightly(tmp_path)
    assert [line.split()[0] for line in ran] == ["sleep"], "the newest is of today"


def test_a_failed_backup_deletes_nothing(tmp_path: Path) -> None:
    old = [tmp_path / f"errorscope-2026112{day}T023000Z.dump" for day in range(3)]
    for path in (*old, tmp_path / "fails"):
        path.touch()
        os.utime(path, (0, 0))
    ran, _ = nightly(tmp_path, keep="1")
    assert ran == ["pg_dump errorscope", "sleep 600"]
    assert sorted(tmp_path.glob("errorscope*")) == old


def test_wrong_backup_settings_are_refused(tmp_path: Path) -> None:
    for keep, at, name in (
        ("0", "02:30", "BACKUP_KEEP"),
        ("many", "02:30", "BACKUP_KEEP"),
        ("2", "24:00", "BACKUP_TIME"),
    ):
        ran, errors = nightly(tmp_path, keep, at)
        assert ran == []
        assert f"{name} is" in errors
