"""What an import finds wrong with a file. Apart from the tests, for processes that need no more than this."""

from core.data import Dataset, Output, Segment
from core.formats.files import Upload
from core.services.projects import importing, label_import

TEXTS = Dataset((Segment("", "1", "s"),), (Output("A", "", "1", "x"),))


def found_in(upload: Upload) -> tuple[str, ...]:
    """What an import says of a file, whatever kind of file it is taken for."""
    read = importing.read_files([upload])
    if read.plan.kind == "labels":
        return tuple(p.got for p in label_import.read_label_files([upload], texts=TEXTS).problems)
    return tuple(p.got for p in importing.preview(read).problems)
