"""Checks wheels and the sdist as files: platform tags, the stable ABI, what is in them.

    check_wheels.py dist

auditwheel reads the tag that the symbols allow, abi3audit that only Python's stable ABI is used.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_string
from pathlib import Path

# What a wheel has beside the Python files.
PARTS = (
    "clearpipe/py.typed",
    "clearpipe/scenario.schema.json",
    "clearpipe/wireshark/clearpipe.lua",
    "clearpipe/examples/xcp-fig10.toml",
    "clearpipe/papers/vcp.toml",
)

# A directory of the machine that built it.
PLACES = re.compile(
    rb"/(?:home|root|Users|work|tmp|var/tmp|runner)/[A-Za-z0-9_.-]+/[\w./-]+"
    rb"|[A-Z]:[\\/](?:a|Users)[\\/][\w.\\/-]+"
)


def check_wheel(path: Path) -> list[str]:
    """What is wrong with a wheel."""
    wrong = []
    *_, abi, platform = path.stem.split("-")
    if abi != "abi3":
        wrong.append(f"its ABI is {abi}")
    if platform.startswith("manylinux"):
        allowed = _run("auditwheel", "show", path)
        # The text is folded.
        told = re.search(r'following platform tag: "(\w+)"', " ".join(allowed.split()))
        best = told[1] if told else "none"
        if _glibc(best) > _glibc(platform):
            wrong.append(f"it is tagged {platform}, and its symbols allow {best}")
        print(f"{path.name}: tagged {platform}; auditwheel: consistent with {best}")
    print(f"{path.name}: {_run('abi3audit', '--strict', '--summary', path).strip()}")
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        about = next(name.rpartition("/")[0] for name in names if name.endswith("/METADATA"))
        core = next(name for name in names if re.fullmatch(r"clearpipe/_core\.[\w.]+", name))
        sboms = [name for name in names if name.startswith(f"{about}/sboms/")]
        for name in (core, *sboms):
            places = sorted(set(PLACES.findall(wheel.read(name))))
            wrong += [f"{name} names {place.decode()}" for place in places[:5]]
        wrong += [f"{part} is missing" for part in PARTS if part not in names]
        if not any(name.startswith(f"{about}/licenses/") for name in names):
            wrong.append("no licences")
        crates = [len(json.loads(wheel.read(name))["components"]) for name in sboms]
        if not crates or min(crates) < 20:
            wrong.append("no SBOM of its crates")
        wrong += _metadata(wheel.read(f"{about}/METADATA").decode())
        size = path.stat().st_size / 1e6
        print(f"{path.name}: {size:.1f} MB, {len(names)} files, an SBOM of {sum(crates)} crates")
    return wrong


def _metadata(text: str) -> list[str]:
    """What is missing in METADATA."""
    about = message_from_string(text)
    wanted = ("Summary", "Author", "License-Expression", "License-File", "Keywords", "Classifier",
              "Project-URL", "Requires-Python", "Description-Content-Type")  # fmt: skip
    wrong = [f"METADATA has no {key}" for key in wanted if key not in about]
    if len(str(about.get_payload())) < 500:
        wrong.append("METADATA has no readme")
    return wrong


def check_sdist(path: Path) -> list[str]:
    """What is wrong with an sdist."""
    with tarfile.open(path) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    wanted = ("Cargo.lock", "Cargo.toml", "pyproject.toml", "PKG-INFO", "LICENSE-MIT",
              "crates/cc/src/lib.rs", "python/README.md",
              "python/clearpipe/cli.py")  # fmt: skip
    built = sorted(name for name in names if name.endswith((".so", ".pyd", ".pyc")))
    wrong = [f"{name} is missing" for name in wanted if name not in names]
    wrong += [f"{name} does not belong in it" for name in built]
    print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB, {len(names)} files")
    return wrong


def _glibc(tag: str) -> tuple[int, ...]:
    """manylinux_2_28_x86_64 as (2, 28); what is none is later than all."""
    found = re.match(r"manylinux_(\d+)_(\d+)_", tag)
    return tuple(map(int, found.groups())) if found else (99, 0)


def _run(*command: object) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *map(str, command)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {done.stdout}{done.stderr}")
    return done.stdout or done.stderr


def main() -> None:
    """The command."""
    folder = Path(sys.argv[1])
    wheels, sdists = sorted(folder.glob("*.whl")), sorted(folder.glob("*.tar.gz"))
    wrong = [f"{path.name}: {one}" for path in wheels for one in check_wheel(path)]
    wrong += [f"{path.name}: {one}" for path in sdists for one in check_sdist(path)]
    if not wheels:
        wrong.append(f"no wheel in {folder}")
    sys.exit("\n".join(wrong) or 0)


if __name__ == "__main__":
    main()
