"""Recorded capacities that a paper's runs need and that do not come with Clearpipe.

A paper's file lists them under `[traces]` by name, each with the id that git gives its content, so
that a verdict is of the authors' file or of none. Whoever has them names their folder.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from clearpipe.errors import ConfigError


@dataclass(frozen=True)
class Traces:
    """The traces of a paper."""

    source: str = ""
    """Where they are to be had, and under which licence."""
    blobs: Mapping[str, str] = field(default_factory=dict)
    """By file name: git's id of the content."""

    @property
    def lacking(self) -> str:
        """Why runs over them are not done where no folder was named."""
        return f"needs recorded traces, --traces FOLDER; they are in {self.source}"

    def found(self, folder: Path) -> dict[str, Path]:
        """Those that the folder has. Raises ConfigError where there is no folder, for none, and for
        a file of such a name whose content is another one."""
        if not folder.is_dir():
            raise ConfigError(f"--traces {folder}: there is no such folder", key="traces")
        found = {name: folder / name for name in self.blobs if (folder / name).is_file()}
        if not found:
            names = ", ".join(self.blobs)
            raise ConfigError(f"--traces {folder}: has none of {names}", key="traces")
        for name, path in found.items():
            blob = blob_of(path)
            if blob != self.blobs[name]:
                raise ConfigError(
                    f"--traces {path}: not the authors' file: its content is git blob {blob}, "
                    f"theirs {self.blobs[name]}",
                    key="traces",
                )
        return found


def blob_of(path: Path) -> str:
    """What `git hash-object` calls the file's content."""
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
