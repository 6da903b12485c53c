"""The command of campaigns, `python -m db.campaigns`. `python -m core campaign` runs it too."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import get_args

from core.campaigns.design import Assigning, CampaignDesign
from core.campaigns.protocol import PROTOCOLS
from core.campaigns.selection import Outline
from core.errors import UserError, unknown
from core.formats.campaigns.campaign_file import CampaignFile
from core.formats.files import Upload, file_name
from core.formats.labels.label_file import Written
from core.formatting import format_count
from core.ports.campaigns import Campaign
from core.ports.projects import Project
from core.ports.store import Store
from core.reports.campaign_text import campaign_report
from core.services.campaigns import creating, exporting, importing, people, planning, setup_design
from core.services.campaigns.progress import progress
from core.services.labels.exchange import LARGEST_NUMBER
from core.services.labels.typologies import of_project
from core.services.projects.adding import ImportTarget
from core.settings import load as settings
from db.command import exit_status
from db.store import open_store
from db.users import WHO, project_of

PAY = "pay"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return the exit status, 2 for invalid input."""
    given = _parser().parse_args(arguments)
    command: Callable[[Store, argparse.Namespace], str] = given.run
    return exit_status(lambda _: command(open_store(given.database or settings().database), given))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m core campaign", description="Plan, create and follow campaigns.")
    parser.add_argument("--database", help="SQLAlchemy URL; default: ERRORSCOPE_DB, or the file in ERRORSCOPE_HOME")
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name: str, help: str, run: Callable[[Store, argparse.Namespace], str]) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=help, description=help)
        made.set_defaults(run=run)
        made.add_argument("project", help="name or number of the project")
        return made

    _design_options(
        command("plan", "estimate units, time, cost and the minimum detectable difference; creates nothing", _plan)
    )
    make = command("create", "create a campaign as a draft, or start it", _create)
    make.add_argument("name", help="name of the campaign")
    _design_options(make)
    make.add_argument(
        "--invite", type=Path, metavar="FILE", help="text file with one name per line; prints a link for each"
    )
    make.add_argument("--title", help="name that annotators see; default: NAME, or the protocol if NAME names a system")
    make.add_argument(
        "--finish-by", type=date.fromisoformat, metavar="DAY", help="deadline that annotators see, such as 2026-12-24"
    )
    make.add_argument("--start", action="store_true", help="start at once; otherwise it is a draft")
    status = command("status", "show the progress, and the work of each person", _status)
    status.add_argument("name")
    for name, help, run in (
        ("analyse", "say what a campaign file of another tool contains: checks, ranking, agreement, times", _analyse),
        ("import", "make a project from a campaign file of another tool, or add its ratings to a project", _import),
    ):
        read = commands.add_parser(name, help=help, description=help)
        read.set_defaults(run=run)
        read.add_argument("file", type=Path)
        read.add_argument("--format", required=True, choices=list(exporting.FORMATS))
        read.add_argument("--texts", type=Path, metavar="FILE", help="the batches with the texts, for Appraise")
        read.add_argument("--campaign", metavar="NAME", help="one of the campaigns in a file of Pearmut")
        if name == "import":
            target = read.add_mutually_exclusive_group(required=True)
            target.add_argument("--name", help="name of the new project")
            target.add_argument(
                "--project",
                metavar="PROJECT",
                help="name or number of an existing project, to which the ratings are added",
            )
    write = command("export", "write the ratings, or the table of units, time and pay", _export)
    write.add_argument("name")
    write.add_argument("--format", required=True, choices=[*exporting.FORMATS, PAY])
    write.add_argument("--out", type=Path, required=True, help="file to write; it must not exist")
    return parser


def _design_options(parser: argparse.ArgumentParser) -> None:
    base = CampaignDesign()
    parser.add_argument(
        "--protocol", choices=list(PROTOCOLS), default=base.protocol.name,
        help="mqm asks for the error typology of the project",
    )  # fmt: skip
    parser.add_argument("--systems", nargs="+", default=[], metavar="SYSTEM", help="default: all")
    parser.add_argument("--people", type=int, default=base.people, help="how many people are planned")
    parser.add_argument("--overlap", type=int, default=base.overlap, help="distinct raters of each unit")
    parser.add_argument("--assigning", choices=get_args(Assigning), default=base.assigning)
    parser.add_argument(
        "--block", type=int, default=base.block_size, help="segments of a document that one person gets together"
    )
    parser.add_argument(
        "--lease",
        type=int,
        default=base.lease_minutes,
        help="minutes after which an idle unit is given to somebody else",
    )
    parser.add_argument("--checks", type=float, default=base.checks, help="share of attention checks, 0 to 0.5")
    parser.add_argument("--repeats", type=float, default=base.repeats, help="share of repeats, 0 to 0.5")
    parser.add_argument("--seconds", type=float, default=base.seconds_per_unit, help="expected seconds per unit")
    parser.add_argument("--pay", type=float, default=base.pay_per_hour, help="pay per hour")
    parser.add_argument("--currency", default=base.currency)
    parser.add_argument("--seed", type=int, default=base.seed)
    parser.add_argument(
        "--instructions", type=Path, metavar="FILE", help="instructions in Markdown; default: those of the protocol"
    )


def _design(store: Store, given: argparse.Namespace, project: Project) -> CampaignDesign:
    protocol = PROTOCOLS[given.protocol]
    if protocol.name == "mqm":
        protocol = protocol.edited(typology=of_project(store, project.id))
    if given.instructions is not None:
        protocol = protocol.edited(instructions=given.instructions.read_text(encoding="utf-8"))
    if not 0 <= given.seed <= LARGEST_NUMBER:
        raise UserError("the seed is out of range", got=str(given.seed), expected=f"0 to {LARGEST_NUMBER:,}")
    return CampaignDesign(
        protocol, tuple(given.systems), (), given.overlap, given.people, given.assigning, given.block, given.lease, given.seed,
        given.checks, given.repeats, seconds_per_unit=given.seconds, pay_per_hour=given.pay, currency=given.currency,
    )  # fmt: skip


def _plan(store: Store, given: argparse.Namespace) -> str:
    project = project_of(store, given.project)
    design = _design(store, given, project)
    outline = store.projects.index(project.id).outline
    found = creating.estimate(outline, design)
    systems = set(design.systems) or {s for names in outline.values() for s in names}
    lines = [
        f"{design.protocol.title}: {format_count(found.units, 'unit')} of {format_count(found.outputs, 'output')} in "
        f"{format_count(found.documents, 'document')}",
        f"{format_count(found.ratings, 'rating')} with checks and repeats, {found.hours:.1f} hours in all, "
        f"{found.hours_per_person:.1f} hours per person",
    ]
    if design.pay_per_hour:
        lines.append(f"pay: {found.cost:.2f} {design.currency}")
    if len(systems) > 1:
        lines.append(
            f"minimum detectable difference of two systems (80 % power, default variances): {_detectable(outline, design)}"
        )
    return "\n".join(lines)


def _detectable(outline: Outline, design: CampaignDesign) -> str:
    if planning.prefers(design):
        votes = planning.detectable_preference(outline, design)
        if votes is None or votes.one_pair is None or votes.strength is None:
            return votes.reason if votes else "no segment has two outputs"
        return f"{votes.one_pair:.0%} of the comparisons won, ties as half (strength {votes.strength:.2f})"
    least = planning.detectable(outline, design, planning.assumed(design))
    if least is None or least.one_pair is None:
        return least.reason if least else "no segment has two outputs"
    of_100 = "score" in design.protocol.asks
    return f"{least.one_pair:.1f} points of 100" if of_100 else f"{least.one_pair:.2f} points of the MQM score"


def _create(store: Store, given: argparse.Namespace) -> str:
    names = [] if given.invite is None else given.invite.read_text(encoding="utf-8").splitlines()
    project = project_of(store, given.project)
    design = _design(store, given, project)
    systems = design.systems or store.projects.index(project.id).systems
    title = given.title or setup_design.usual_title(given.name, systems, design.protocol)
    design = replace(design, title=title, finish_by=given.finish_by)
    campaign = creating.create(store, WHO, project.id, given.name, design)
    store.audit.record(WHO, "campaign created", campaign.project_id, name=campaign.name)
    units = format_count(len(store.campaigns.units(campaign.id)), "unit")
    typology = f", error typology {design.protocol.typology.title}" if design.protocol.name == "mqm" else ""
    lines = [f"created {campaign.name}: {units}{typology}"]
    if wanted := [name for name in names if name.strip()]:
        lines += [f"{made.link.rater}\t{made.path}" for made in people.invite(store, WHO, campaign, wanted)]
    if given.start:
        store.campaigns.set_state(campaign.id, "running")
        store.audit.record(WHO, "campaign started", campaign.project_id, name=campaign.name)
        lines[0] += ", running"
    return "\n".join(lines)


def _status(store: Store, given: argparse.Namespace) -> str:
    campaign = campaign_of(store, given)
    found = progress(store, campaign)
    lines = [
        f"{campaign.name}: {campaign.state}, {found.ratings:,} of {found.wanted:,} ratings, {found.complete:,} of "
        f"{format_count(found.units, 'unit')} complete"
    ]
    for row in found.people:
        state = "excluded" if row.participant.excluded else "left" if row.participant.left else ""
        lines.append(
            f"{row.participant.rater}\t{format_count(row.units, 'unit')}\t{row.seconds / 60:.0f} min\t{state}".rstrip()
        )
    return "\n".join(lines)


def _export(store: Store, given: argparse.Namespace) -> str:
    campaign = campaign_of(store, given)
    written = (
        Written((people.pay_table(store, campaign),))
        if given.format == PAY
        else exporting.export(store, campaign, given.format)
    )
    parts = (exporting.FORMATS[given.format].part(n) for n in range(2, len(written.texts) + 1))
    files = [given.out, *(given.out.with_name(f"{given.out.stem}.{part}") for part in parts)]
    for file, text in zip(files, written.texts, strict=True):
        with file.open("x", encoding="utf-8", newline="") as held:
            held.write(text)
    return "\n".join([*(f"wrote {file}" for file in files), *written.lost])


def _read(given: argparse.Namespace) -> CampaignFile:
    texts = None if given.texts is None else Upload(file_name(given.texts), given.texts.read_bytes())
    return importing.read(given.format, Upload(file_name(given.file), given.file.read_bytes()), texts, given.campaign)


def _analyse(store: Store, given: argparse.Namespace) -> str:
    return campaign_report(_read(given))


def _import(store: Store, given: argparse.Namespace) -> str:
    found, target = _read(given), ImportTarget(given.name or "")
    if given.project is not None:
        project = project_of(store, given.project)
        target = ImportTarget(project.name, project.id)
    done = importing.import_campaign(store, target, found)
    store.audit.record(WHO, "data imported", done.project.id, labelled=done.labelled)
    where = "as" if target.project_id is None else "into"
    said = [f"imported {len(found.of_kind('item')):,} ratings {where} {done.project.name}", *done.notes]
    return "\n".join([*said, *(w.sentence() for w in found.warnings)])


def campaign_of(store: Store, given: argparse.Namespace) -> Campaign:
    """Return the campaign of this name. Raises `UserError` if there is none."""
    there = store.campaigns.list(project_of(store, given.project).id)
    found = next((c for c in there if c.name == given.name), None)
    if found is None:
        raise unknown("campaign", given.name, [c.name for c in there])
    return found


if __name__ == "__main__":
    sys.exit(main())
