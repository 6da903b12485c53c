"""Permissions: what Errorscope stores is readable by its owner only (docs/backup.md).

A file or folder that belongs to another user or group, and a folder that also holds other things, is left as it is:
somebody shares it on purpose.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

OURS = ("errorscope.db", "worker.log", "ranges.json", "baselines", "drafts")
"""Prefixes of all file names that Errorscope creates in its home folder."""


def private_folder(folder: Path) -> None:
    """Create `folder` with mode 0700. An existing one is restricted only if it is ours and has only our files."""
    try:
        folder.mkdir(mode=0o700, parents=True)
    except FileExistsError:
        if not folder.is_dir():
            raise
        with os.scandir(folder) as found:
            if all(entry.name.startswith(OURS) for entry in found):
                _tighten(folder, 0o700)


def private_file(path: Path) -> None:
    """Restrict our file to its owner (mode 0600 or less). A missing file or one of another owner is left unchanged."""
    _tighten(path, 0o600)


def _tighten(path: Path, mode: int) -> None:
    try:
        found = os.stat(path)
        special = found.st_mode & (stat.S_ISVTX | stat.S_ISGID | stat.S_ISUID)
        own = hasattr(os, "geteuid") and (found.st_uid, found.st_gid) == (os.geteuid(), os.getegid())
        if own and not special and found.st_mode & 0o077:
            os.chmod(path, found.st_mode & mode)  # only removes rights: a read-only file stays read-only
    except OSError:  # a file system without permissions, or a file that has just gone
        return
