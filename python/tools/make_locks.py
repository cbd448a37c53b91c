"""Writes the lock files, with the newest packages that pyproject.toml allows and their hashes.

    make_locks.py python/locks

They hold for every Python and system that it allows. What the build needs is among them where
something is built: nothing else is installed to build with.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

# The options that say what each lock has, beside Clearpipe's own needs where it names the project.
# `user` is what a wheel needs without extras, `wheels` what makes and checks one.
LOCKS = {
    "demo": ("pyproject.toml", "-", "--extra=figures"),
    "dev": (
        *("pyproject.toml", "-", "--extra=dev", "--extra=figures"),
        *("--extra=cluster", "--extra=attack"),
    ),
    "docs": ("pyproject.toml", "-", "--extra=docs", "--extra=figures"),
    "user": ("pyproject.toml",),
    "wheels": ("-", "--group=wheels"),
}


def main() -> None:
    """The command."""
    folder, project = Path(sys.argv[1]), Path("pyproject.toml")
    about = tomllib.loads(project.read_text(encoding="utf-8"))
    build = "\n".join(about["build-system"]["requires"])
    least = about["project"]["requires-python"].removeprefix(">=")
    options = ["--universal", "--upgrade", "--generate-hashes", "--no-annotate", "--quiet"]
    options += ["--python-version", least, "--custom-compile-command", "make locks"]
    for name, chosen in LOCKS.items():
        command = ["uv", "pip", "compile", *chosen, *options]
        done = subprocess.run(command, input=build, text=True, stdout=subprocess.PIPE, check=True)
        (folder / f"{name}.txt").write_text(done.stdout, encoding="utf-8")


if __name__ == "__main__":
    main()
