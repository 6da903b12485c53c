"""`campaign`: plan, create, follow and export campaigns; analyse and import those of other tools."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_type_hints

import typer
from typer.core import TyperCommand

from cli.database import WHO, ProjectName, group, opened, project_of
from cli.options import one_of, print_result
from core.campaigns.design import Assigning, CampaignDesign
from core.campaigns.protocol import PROTOCOLS, ProtocolName
from core.campaigns.units import Outline
from core.errors import UserError, unknown
from core.formats.campaigns.campaign_file import CampaignFile
from core.formats.files import file_at
from core.formats.labels.label_file import Written
from core.formatting import format_count
from core.ports.campaigns import Campaign
from core.ports.store import Store
from core.reports.campaign_results import campaign_report
from core.services.campaigns import people, planning, setup, setup_design
from core.services.campaigns.files import FORMATS, export, import_campaign, read_campaign_file
from core.services.campaigns.monitor import progress
from core.services.labels.editor import LARGEST_NUMBER
from core.services.labels.protocols import typology_of
from core.services.projects.adding import ImportTarget

PAY = "pay"
BASE = CampaignDesign()
PLAN = "estimate units, time, cost and the minimum detectable difference; creates nothing"
ANALYSE = "say what a campaign file of another tool contains: checks, ranking, agreement, times"
IMPORT = "make a project from a campaign file of another tool, or add its ratings to a project"

campaign_command = group()


class _SeveralSystems(TyperCommand):
    """A command whose option --systems takes all names up to the next option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        spread: list[str] = []
        named = False
        for argument in args:
            named = argument == "--systems" if argument.startswith("-") else named
            if named and argument != "--systems":
                spread += ["--systems", argument]
            elif not named:
                spread.append(argument)
        return super().parse_args(ctx, spread)


CampaignName = Annotated[str, typer.Argument(help="name of the campaign")]
FileFormat = Annotated[str, typer.Option("--format", parser=one_of(FORMATS), metavar=f"[{'|'.join(FORMATS)}]")]
Texts = Annotated[Path | None, typer.Option(metavar="FILE", help="the batches with the texts, for Appraise")]
CampaignInFile = Annotated[str | None, typer.Option(metavar="NAME", help="one of the campaigns in a file of Pearmut")]


class _DesignOptions(NamedTuple):
    """The options of `plan` and `create` that make a design; numbers have the names that `CampaignDesign` gives them."""

    protocol: Annotated[ProtocolName, typer.Option(help="mqm asks for the error typology of the project")] = (
        BASE.protocol.name
    )
    systems: Annotated[list[str] | None, typer.Option(metavar="SYSTEM...", help="default: all")] = None
    people: Annotated[int, typer.Option(help="how many people are planned")] = BASE.people
    overlap: Annotated[int, typer.Option(help="distinct raters of each unit")] = BASE.overlap
    assigning: Annotated[Assigning, typer.Option()] = BASE.assigning
    block_size: Annotated[int, typer.Option("--block", help="segments of a document that one person gets together")] = (
        BASE.block_size
    )
    lease_minutes: Annotated[
        int, typer.Option("--lease", help="minutes after which an idle unit is given to somebody else")
    ] = BASE.lease_minutes
    checks: Annotated[float, typer.Option(help="share of attention checks, 0 to 0.5")] = BASE.checks
    repeats: Annotated[float, typer.Option(help="share of repeats, 0 to 0.5")] = BASE.repeats
    seconds_per_unit: Annotated[float, typer.Option("--seconds", help="expected seconds per unit")] = (
        BASE.seconds_per_unit
    )
    pay_per_hour: Annotated[float, typer.Option("--pay", help="pay per hour")] = BASE.pay_per_hour
    currency: Annotated[str, typer.Option()] = BASE.currency
    seed: Annotated[int, typer.Option()] = BASE.seed
    instructions: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="instructions in Markdown; default: those of the protocol"),
    ] = None

    def design(self, store: Store, project: int) -> CampaignDesign:
        """Return the design. Raises `UserError` for a seed out of range."""
        protocol = PROTOCOLS[self.protocol]
        if protocol.name == "mqm":
            protocol = protocol.edited(typology=typology_of(store, project))
        if self.instructions is not None:
            protocol = protocol.edited(instructions=self.instructions.read_text(encoding="utf-8"))
        if not 0 <= self.seed <= LARGEST_NUMBER:
            raise UserError("the seed is out of range", got=str(self.seed), expected=f"0 to {LARGEST_NUMBER:,}")
        plain = {name: value for name, value in self._asdict().items() if name not in ("instructions", "protocol")}
        return CampaignDesign(**(plain | {"protocol": protocol, "systems": tuple(self.systems or ())}))


def _with_design(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command all `_DesignOptions` in place of its parameter `options`."""
    hints = get_type_hints(_DesignOptions, include_extras=True)
    parameters: list[Parameter] = []
    for own in signature(command, eval_str=True).parameters.values():
        if own.name != "options":
            parameters.append(own.replace(kind=Parameter.KEYWORD_ONLY))
            continue
        for name, default in _DesignOptions._field_defaults.items():
            parameters.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hints[name]))

    @wraps(command)
    def run(**values: Any) -> None:
        command(options=_DesignOptions(*(values.pop(name) for name in _DesignOptions._fields)), **values)

    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return run


@campaign_command.command("plan", cls=_SeveralSystems, help=PLAN)
@_with_design
def plan_campaign(context: typer.Context, project: ProjectName, options: _DesignOptions) -> None:
    with opened(context) as store:
        print_result(_plan(store, project_of(store, project).id, options))


@campaign_command.command("create", cls=_SeveralSystems, help="create a campaign as a draft, or start it")
@_with_design
def create_campaign(
    context: typer.Context,
    project: ProjectName,
    name: CampaignName,
    options: _DesignOptions,
    invite: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="text file with one name per line; prints a link for each"),
    ] = None,
    title: Annotated[
        str | None,
        typer.Option(help="name that annotators see; default: NAME, or the protocol if NAME names a system"),
    ] = None,
    finish_by: Annotated[
        date | None,
        typer.Option(parser=date.fromisoformat, metavar="DAY", help="deadline that annotators see, such as 2026-12-24"),
    ] = None,
    start: Annotated[bool, typer.Option("--start", help="start at once; otherwise it is a draft")] = False,
) -> None:
    with opened(context) as store:
        names = [] if invite is None else invite.read_text(encoding="utf-8").splitlines()
        of = project_of(store, project)
        design = options.design(store, of.id)
        systems = design.systems or store.projects.index(of.id).systems
        title = title or setup_design.usual_title(name, systems, design.protocol)
        campaign = setup.create(store, WHO, of.id, name, replace(design, title=title, finish_by=finish_by))
        print_result(_created(store, campaign, design, [one for one in names if one.strip()], start=start))


@campaign_command.command("status", help="show the progress, and the work of each person")
def show_status(context: typer.Context, project: ProjectName, name: CampaignName) -> None:
    with opened(context) as store:
        print_result(_status(store, campaign_of(store, project, name)))


@campaign_command.command("analyse", help=ANALYSE)
def analyse_file(
    context: typer.Context,
    file: Annotated[Path, typer.Argument()],
    format: FileFormat,
    texts: Texts = None,
    campaign: CampaignInFile = None,
) -> None:
    with opened(context):
        print_result(campaign_report(_read(file, format, texts, campaign)))


@campaign_command.command("import", help=IMPORT)
def import_file(
    context: typer.Context,
    file: Annotated[Path, typer.Argument()],
    format: FileFormat,
    texts: Texts = None,
    campaign: CampaignInFile = None,
    name: Annotated[str | None, typer.Option(help="name of the new project")] = None,
    project: Annotated[
        str | None,
        typer.Option(metavar="PROJECT", help="name or number of an existing project, to which the ratings are added"),
    ] = None,
) -> None:
    if (name is None) == (project is None):
        raise typer.BadParameter("give one of --name and --project", param_hint="--name")
    with opened(context) as store:
        print_result(_import(store, _read(file, format, texts, campaign), name, project))


@campaign_command.command("export", help="write the ratings, or the table of units, time and pay")
def export_campaign(
    context: typer.Context,
    project: ProjectName,
    name: CampaignName,
    format: Annotated[
        str,
        typer.Option(parser=one_of([*FORMATS, PAY]), metavar=f"[{'|'.join([*FORMATS, PAY])}]"),
    ],
    out: Annotated[Path, typer.Option(help="file to write; it must not exist")],
) -> None:
    with opened(context) as store:
        print_result(_export(store, campaign_of(store, project, name), format, out))


def _plan(store: Store, project: int, options: _DesignOptions) -> str:
    design = options.design(store, project)
    outline = store.projects.index(project).outline
    costs = setup.estimate(outline, design)
    systems = set(design.systems) or {s for names in outline.values() for s in names}
    lines = [
        f"{design.protocol.title}: {format_count(costs.units, 'unit')} of {format_count(costs.outputs, 'output')} in "
        f"{format_count(costs.documents, 'document')}",
        f"{format_count(costs.ratings, 'rating')} with checks and repeats, {costs.hours:.1f} hours in all, "
        f"{costs.hours_per_person:.1f} hours per person",
    ]
    if design.pay_per_hour:
        lines.append(f"pay: {costs.cost:.2f} {design.currency}")
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


def _created(store: Store, campaign: Campaign, design: CampaignDesign, names: list[str], *, start: bool) -> str:
    """Invite people to a new campaign, start it on demand, and say what was done."""
    store.audit.record(WHO, "campaign created", campaign.project_id, name=campaign.name)
    units = format_count(len(store.campaigns.units(campaign.id)), "unit")
    typology = f", error typology {design.protocol.typology.title}" if design.protocol.name == "mqm" else ""
    lines = [f"created {campaign.name}: {units}{typology}"]
    if names:
        lines += [f"{made.link.rater}\t{made.path}" for made in people.invite(store, WHO, campaign, names)]
    if start:
        store.campaigns.set_state(campaign.id, "running")
        store.audit.record(WHO, "campaign started", campaign.project_id, name=campaign.name)
        lines[0] += ", running"
    return "\n".join(lines)


def _status(store: Store, campaign: Campaign) -> str:
    status = progress(store, campaign)
    lines = [
        f"{campaign.name}: {campaign.state}, {status.ratings:,} of {status.planned:,} ratings, {status.complete:,} of "
        f"{format_count(status.units, 'unit')} complete"
    ]
    for row in status.people:
        state = "excluded" if row.participant.excluded else "left" if row.participant.left else ""
        lines.append(
            f"{row.participant.rater}\t{format_count(row.units, 'unit')}\t{row.seconds / 60:.0f} min\t{state}".rstrip()
        )
    return "\n".join(lines)


def _export(store: Store, campaign: Campaign, format: str, out: Path) -> str:
    written = Written((people.pay_table(store, campaign),)) if format == PAY else export(store, campaign, format)
    parts = (FORMATS[format].part(n) for n in range(2, len(written.texts) + 1))
    files = [out, *(out.with_name(f"{out.stem}.{part}") for part in parts)]
    for file, text in zip(files, written.texts, strict=True):
        with file.open("x", encoding="utf-8", newline="") as stream:
            stream.write(text)
    return "\n".join([*(f"wrote {file}" for file in files), *written.lost])


def _read(file: Path, format: str, texts: Path | None, campaign: str | None) -> CampaignFile:
    batches = None if texts is None else file_at(texts)
    return read_campaign_file(format, file_at(file), batches, campaign)


def _import(store: Store, file: CampaignFile, name: str | None, asked: str | None) -> str:
    target = ImportTarget(name or "")
    if asked is not None:
        project = project_of(store, asked)
        target = ImportTarget(project.name, project.id)
    done = import_campaign(store, target, file)
    store.audit.record(WHO, "data imported", done.project.id, labelled=done.labelled)
    where = "as" if target.project_id is None else "into"
    said = [f"imported {len(file.of_kind('item')):,} ratings {where} {done.project.name}", *done.notes]
    return "\n".join([*said, *(w.sentence() for w in file.warnings)])


def campaign_of(store: Store, project: str, name: str) -> Campaign:
    """Return the campaign of this name. Raises `UserError` if there is none."""
    campaigns = store.campaigns.list(project_of(store, project).id)
    campaign = next((c for c in campaigns if c.name == name), None)
    if campaign is None:
        raise unknown("campaign", name, [c.name for c in campaigns])
    return campaign
