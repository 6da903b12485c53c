"""`models`: make a fetched model ready for use, as the page *Models* does."""

from __future__ import annotations

from typing import Annotated

import typer

from core.commands.progress import counted, print_note, print_result
from core.errors import UserError
from core.formats.write import aligned
from core.models import folders
from core.models.folders import ModelFolder
from core.models.kinds import MODEL_KINDS, is_set
from core.services.models import preparing


def run(
    kind: Annotated[str, typer.Argument(help=f"kind of model: {', '.join(MODEL_KINDS)}")],
    folder: Annotated[str, typer.Argument(help="folder with the fetched model; by default the suggested model's")] = "",
) -> None:
    """Check the files, convert pickled weights, test the model, and use it where no setting names another one. Raises `UserError`."""
    if kind not in MODEL_KINDS:
        raise UserError("there is no such kind of model", got=kind, expected=", ".join(MODEL_KINDS))
    chosen = MODEL_KINDS[kind]
    checked = folders.model_folder(kind, folder) if folder else _only(kind)
    rows = [(file.name, file.found, f"expected {file.expected}" if file.expected else "ok") for file in checked.files]
    print_note(*aligned([("file", "found", str(checked.path)), *rows]))
    progress = counted("Converting" if checked.pickled else "Testing", 100)
    if not chosen.is_prepared:
        print_result(
            f"The weights are safetensors. Use them with {chosen.variable}={preparing.convert_only(checked, progress)}"
        )
        return
    print_result(preparing.report(kind, preparing.prepare(checked, progress)))
    if is_set(kind):
        print_note(f"note: {chosen.variable} is set and takes precedence over this model. Unset it to use this one")


def _only(kind: str) -> ModelFolder:
    """Return the only folder with a model of this kind. Raises UserError if there is none or several."""
    found = folders.found_folders(kind)
    if len(found) == 1:
        return found[0]
    chosen = MODEL_KINDS[kind]
    raise UserError(
        f"which folder has {chosen.words}?" if found else f"{chosen.words} is not fetched yet",
        got=", ".join(str(one.path) for one in found), expected="its folder after the kind",
        hint="" if found else f"Fetch {chosen.model} ({chosen.size}, {chosen.licence}): {' && '.join(chosen.fetch(chosen.folder))}",
    )  # fmt: skip
