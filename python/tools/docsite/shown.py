"""The pictures that pages show beside those of `pictures.py` and `fluid_figures.py`.

    shown.py FOLDER

Each is drawn by the command that its page names. The report's is a photograph by Chromium
(CHROME_PATH) and left as it is where there is none.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
NETWORK = ROOT / "docs/reference/theory/networks.md"

FIGURES = {
    "xcp-fig10.png": "run xcp-fig10 --out run",
    "theory-xcp-equilibrium.png": "theory xcp equilibrium two-links.toml",
    "theory-xcp-stability.png": "theory xcp stability",
    "theory-vcp-fluid.png": "theory vcp fluid --capacity 150Mbps --rtt 80ms --flows 50",
    "theory-mlcp-feedback.png": "theory mlcp feedback",
    "theory-response.png": "theory response --rtt 100ms",
    "theory-aqm.png": "theory aqm --capacity 45Mbps --rtt 80ms --flows 50",
}
"""Each picture, and the command that draws it with `--figure`."""

REPORT = "report.png"
SIZE = "1242,1385"
CHROMIUM = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--hide-scrollbars",
)  # fmt: skip


def clearpipe(*words: str, cwd: Path) -> None:
    """The command, of this Python."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    command = [sys.executable, "-c", "from clearpipe.cli import main; main()", *words]
    subprocess.run(command, cwd=cwd, env=environment, check=True, stdout=subprocess.DEVNULL)


def network() -> str:
    """The scenario of the page about networks."""
    found = re.search(r"^```toml\n(.*?)^```$", NETWORK.read_text(encoding="utf-8"), re.M | re.S)
    assert found is not None
    return found[1]


def main() -> None:
    """The command."""
    folder = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as temporary:
        here = Path(temporary)
        (here / "two-links.toml").write_text(network(), encoding="utf-8")
        for name, command in FIGURES.items():
            clearpipe(*command.split(), "--figure", str(folder / name), cwd=here)
            print(name)
        chromium = os.environ.get("CHROME_PATH") or shutil.which("chromium")
        if chromium is None:
            print(f"{REPORT}: no Chromium, not drawn", file=sys.stderr)
            return
        clearpipe("demo", "--quiet", "--out", "demo", cwd=here)
        page = (here / "demo/report.html").as_uri()
        shot = [f"--window-size={SIZE}", f"--screenshot={folder / REPORT}"]
        subprocess.run([chromium, *CHROMIUM, *shot, page], check=True, stderr=subprocess.DEVNULL)
        print(REPORT)


if __name__ == "__main__":
    main()
