"""Takes what differs from build to build, and names the machine, out of the SBOMs of wheels.

    finish_wheels.py dist

maturin writes into dist-info/sboms where the sources were, a time and a random number. Here the
place becomes /clearpipe, as the compiler's --remap-path-prefix has it, the time that of the commit
(SOURCE_DATE_EPOCH) and the number one that follows from the content, so that equal sources give
equal wheels.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import json
import os
import re
import sys
import uuid
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def sbom(content: bytes, epoch: int) -> bytes:
    """A CycloneDX document without place, time and chance."""
    text = content.decode().replace(f"path+{ROOT.as_uri()}", "path+file:///clearpipe")
    about = json.loads(text)
    when = datetime.datetime.fromtimestamp(epoch, datetime.UTC)
    about["metadata"]["timestamp"] = when.isoformat().replace("+00:00", "Z")
    del about["serialNumber"]
    told = json.dumps(about, sort_keys=True)
    about["serialNumber"] = uuid.uuid5(uuid.NAMESPACE_URL, told).urn
    return (json.dumps(about, indent=2) + "\n").encode()


def finish(wheel: Path, epoch: int) -> None:
    """Write a wheel anew with its SBOMs changed."""
    with zipfile.ZipFile(wheel) as old:
        entries = [(info, old.read(info)) for info in old.infolist()]
    changed = {
        info.filename: sbom(content, epoch)
        for info, content in entries
        if "/sboms/" in info.filename
    }
    partial = wheel.with_suffix(".partial")
    with zipfile.ZipFile(partial, "w") as new:
        for info, content in entries:
            own = changed.get(info.filename, content)
            if info.filename.endswith(".dist-info/RECORD"):
                own = record(content.decode(), changed).encode()
            new.writestr(info, own, info.compress_type)
    partial.replace(wheel)


def record(text: str, changed: dict[str, bytes]) -> str:
    """RECORD with the hashes and sizes of what has changed."""
    for name, content in changed.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        line = f"{name},sha256={digest},{len(content)}"
        text, count = re.subn(rf"^{re.escape(name)},.*$", line, text, flags=re.MULTILINE)
        if count != 1:
            raise ValueError(f"RECORD has {name} {count} times")
    return text


def main() -> None:
    """The command."""
    epoch = int(os.environ["SOURCE_DATE_EPOCH"])
    for wheel in sorted(Path(sys.argv[1]).glob("*.whl")):
        finish(wheel, epoch)


if __name__ == "__main__":
    main()
