"""From exceptions to messages and exit codes: what every command of the command line does."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import NoReturn, ParamSpec, TypeVar

import typer

from clearpipe.terminal import failed

P = ParamSpec("P")
T = TypeVar("T")


class Terminated(BaseException):
    """SIGTERM came."""


def reports_errors(
    kept: str = "what was written is whole",
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Makes a command end with a message on stderr and the exit code of its exception's kind.

    `kept` says what is left of a command that is interrupted.
    """

    def decorate(command: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(command)
        def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
            from clearpipe.batch import Stopped
            from clearpipe.errors import ClearpipeError

            try:
                return command(*args, **kwargs)
            except ClearpipeError as error:
                fail(str(error), error.exit_code)
            except (KeyboardInterrupt, Stopped):
                fail(f"interrupted; {kept}", 130)
            except Terminated:
                fail(f"terminated; {kept}", 143)
            except BrokenPipeError:
                sys.stderr.close()
                raise typer.Exit(1) from None
            except OSError as error:
                where = f"{error.filename}: " if error.filename else ""
                fail(f"{where}{error.strerror or error}", 1)

        return wrapped

    return decorate


def fail(message: str, code: int) -> NoReturn:
    """Ends the command with a message."""
    failed(message, code)
    raise typer.Exit(code)
