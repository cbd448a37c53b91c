"""How figures drawn with matplotlib look (`pip install 'clearpipe[figures]'`)."""

from __future__ import annotations

import importlib.util
import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearpipe import whole
from clearpipe.errors import ConfigError, UnsupportedError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from clearpipe.result import Result

FORMATS = (".png", ".svg", ".pdf")

# Okabe and Ito's colours, told apart by everyone.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")

STYLE: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e4e7ea",
    "grid.linewidth": 0.6,
    "axes.linewidth": 0.7,
    "lines.linewidth": 1.1,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "svg.hashsalt": "clearpipe",
    # Names are shown as they are: a dollar sign begins no formula.
    "text.parse_math": False,
    "pdf.fonttype": 42,
}

SMALL: Any = {"fontsize": 7, "color": "#777777"}


def check(path: str | os.PathLike[str]) -> None:
    """Raise ConfigError for a format that cannot be drawn, UnsupportedError without matplotlib."""
    if Path(path).suffix.lower() not in FORMATS:
        raise ConfigError(f"{os.fspath(path)}: a figure ends in {', '.join(FORMATS)}")
    if importlib.util.find_spec("matplotlib") is None:
        raise UnsupportedError("figures need matplotlib: pip install 'clearpipe[figures]'")


def title(result: Result) -> str:
    """What was run: name, seed and replication."""
    meta = result.meta
    return f"{meta['name']}, seed {meta['seed']}, replication {meta['rep']}"


def save(figure: Figure, path: Path, dpi: int) -> None:
    """Write a figure, whole or not at all; equal results give equal files, without a date."""
    kind = path.suffix.lower().removeprefix(".")
    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    drawn = io.BytesIO()
    figure.savefig(drawn, format=kind, dpi=dpi, metadata=dates.get(kind, {}))
    whole.write_bytes(path, drawn.getvalue())
