"""What can go wrong, one class per exit code of the command line."""

from __future__ import annotations

from typing import ClassVar


class ClearpipeError(Exception):
    """Any error that Clearpipe reports about itself, a scenario or a result."""

    exit_code: ClassVar[int] = 1


class RunError(ClearpipeError):
    """A run, or the reading or writing of a result, failed."""


class ConfigError(ClearpipeError):
    """The scenario is not valid; `file`, `line` and `key` say where, as far as it is known."""

    exit_code = 3

    def __init__(
        self,
        message: str,
        file: str | None = None,
        line: int | None = None,
        key: str | None = None,
    ) -> None:
        super().__init__(message)
        self.file = file
        self.line = line
        self.key = key


class ToleranceError(ClearpipeError):
    """A run came to its end, but a check was outside its tolerance."""

    exit_code = 4


class UnsupportedError(ClearpipeError):
    """This system lacks something; the message says what."""

    exit_code = 5
