"""Result tables, as data frames of whichever library is there."""

from __future__ import annotations

import html
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from clearpipe.errors import UnsupportedError

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from clearpipe import _core


class Table:
    """A table with named columns, each of which ends in its unit; it does not change.

    It speaks the Arrow capsule protocol: `polars.DataFrame(table)` and `pyarrow.table(table)` take
    it without a copy, and so do DuckDB and pandas.
    """

    __slots__ = ("_core",)

    SHOWN = 10
    """How many rows a notebook shows."""

    def __init__(self, core: _core.Table) -> None:
        self._core = core

    @property
    def column_names(self) -> list[str]:
        """The columns, in order."""
        return self._core.column_names

    def column(self, name: str) -> Sequence[Any]:
        """One column: an array of numbers, or a list where it has texts or gaps (None).

        Raises KeyError for a column that is not there.
        """
        return self._core.column(name)

    def __getitem__(self, name: str) -> Sequence[Any]:
        return self._core.column(name)

    def __len__(self) -> int:
        return len(self._core)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._core.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._core.__arrow_c_schema__()

    def to_pyarrow(self) -> pyarrow.Table:
        """A `pyarrow.Table`; raises UnsupportedError without pyarrow."""
        return _library("pyarrow").table(self)

    def to_polars(self) -> polars.DataFrame:
        """A `polars.DataFrame`; raises UnsupportedError without polars."""
        frame: polars.DataFrame = _library("polars").DataFrame(self)
        return frame

    def to_pandas(self) -> pandas.DataFrame:
        """A `pandas.DataFrame`, gaps as NaN; raises UnsupportedError without pandas."""
        # Not through Arrow, so that pandas alone is enough.
        columns = {name: _gapped(self.column(name)) for name in self.column_names}
        return _library("pandas").DataFrame(columns)

    def __repr__(self) -> str:
        return repr(self._core)

    def _repr_html_(self) -> str:
        names = self.column_names
        head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
        columns = [self.column(name)[: self.SHOWN] for name in names]
        body = "".join(
            f"<tr>{''.join(f'<td>{_cell(value)}</td>' for value in row)}</tr>"
            for row in zip(*columns, strict=True)
        )
        more = len(self) - self.SHOWN
        rest = f"<p>... and {more} more rows</p>" if more > 0 else ""
        return (
            f"<div><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}</div>"
        )


def _gapped(values: Sequence[Any]) -> Any:
    """An array of numbers with NaN in its gaps, or the list of texts itself."""
    import numpy as np

    if isinstance(values, list) and any(isinstance(value, str) for value in values):
        return values
    return np.asarray(values) if not isinstance(values, list) else np.array(values, dtype=float)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else html.escape(str(value))


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        message = f"this needs {name}, which is not installed: pip install {name}"
        raise UnsupportedError(message) from None
