"""The compiled core. `clearpipe` is the interface to use; this module may change at any time."""

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypedDict, final, type_check_only

__all__ = [
    "Ack",
    "Backlog",
    "Departing",
    "Loss",
    "Packet",
    "RouterContext",
    "Run",
    "SenderContext",
    "Table",
    "branch",
    "build_info",
    "check_record",
    "check_writable",
    "csv_cells",
    "explain_json",
    "identities",
    "linux_describe",
    "linux_model_version",
    "linux_process",
    "linux_tables",
    "model_version",
    "numbers",
    "parts",
    "protocols_json",
    "queues_json",
    "read",
    "read_numbers",
    "resolve",
    "schema_json",
    "seal",
    "sealed",
    "simulate",
    "version",
    "versions",
]

@type_check_only
class Record(TypedDict):
    capture: list[str]
    headers_only: bool
    trace: bool
    trace_limit: str
    qlog: list[str]
    capture_from: str | None
    capture_to: str | None

def version() -> str: ...
def model_version(engine: str = "packet") -> str: ...
def versions() -> dict[str, str]: ...
def parts(
    file_name: str, text: str, sets: Sequence[str] = ..., *, engine: str = "packet"
) -> dict[str, str]: ...
def build_info() -> dict[str, str]: ...
def protocols_json() -> str: ...
def queues_json() -> str: ...
def schema_json() -> str: ...
def resolve(
    file_name: str,
    text: str,
    sets: Sequence[str] = ...,
    *,
    engine: str = "packet",
    origins: bool = False,
) -> tuple[str, list[str]]: ...
def simulate(
    file_name: str,
    text: str,
    sets: Sequence[str] = ...,
    *,
    seed: int | None = None,
    rep: int = 0,
    on_progress: Callable[..., object] | None = None,
    every_s: float = 0.1,
    look: bool = False,
    out: str | None = None,
    replace: bool = False,
    seal: Callable[[Path], None] | None = None,
    record: Record | None = None,
    engine: str = "packet",
) -> Run: ...
def linux_describe(
    file_name: str,
    text: str,
    sets: Sequence[str] = ...,
    *,
    seed: int | None = None,
    rep: int = 0,
) -> str: ...
def linux_model_version() -> str: ...
def linux_process(arguments: Sequence[str]) -> int: ...
def linux_tables(
    toml: str,
    emulator: str,
    traffic: str,
    *,
    rep: int,
    wall_s: float,
    complete: bool,
    warnings: Sequence[str],
) -> Run: ...
def check_record(
    file_name: str, text: str, sets: Sequence[str] = ..., *, record: Record
) -> str: ...
def explain_json(
    file_name: str,
    text: str,
    sets: Sequence[str] = ...,
    *,
    flow: int,
    at_s: float,
    seed: int | None = None,
    rep: int = 0,
    on_progress: Callable[[float, int, int], object] | None = None,
) -> str | None: ...
def branch(
    file_name: str,
    text: str,
    sets: Sequence[str] = ...,
    *,
    at_s: float,
    variants: Sequence[tuple[str, Sequence[str]]],
    seed: int | None = None,
    rep: int = 0,
    on_progress: Callable[[int | None, float, int, int], object] | None = None,
) -> list[Run]: ...
def read(dir: str) -> Run: ...
def identities(
    file_name: str,
    text: str,
    sets: Sequence[str],
    *,
    seed: int,
    reps: Sequence[int],
    engine: str = "packet",
) -> tuple[list[str], dict[str, str], str | None]: ...
def check_writable(dir: str, *, replace: bool = False) -> None: ...
def seal(dir: str | PathLike[str]) -> str: ...
def sealed(
    dir: str | PathLike[str], names: Sequence[str] | None = None
) -> tuple[list[bytes], tuple[Path, str] | None]: ...
def numbers(summary: str, bottleneck: str | None) -> dict[str, float]: ...
def read_numbers(
    root: str | PathLike[str], runs: Sequence[tuple[str, str | None]]
) -> list[
    tuple[tuple[dict[str, float], str, str, dict[str, str]] | None, tuple[Path, str] | None]
]: ...
def csv_cells(names: Sequence[str], rows: Sequence[dict[str, float]]) -> list[str]: ...

@final
class Run:
    @property
    def meta_json(self) -> str: ...
    @property
    def summary_json(self) -> str: ...
    @property
    def run_toml(self) -> str: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def series_names(self) -> list[str]: ...
    def flows(self) -> Table: ...
    def links(self) -> Table: ...
    def groups(self) -> Table: ...
    def transfers(self) -> Table | None: ...
    def macroflows(self) -> Table | None: ...
    def series(self, name: str) -> Table: ...
    def with_bottleneck(self, link: str | None) -> Run: ...
    def write(self, dir: str, *, replace: bool, seal: Callable[[Path], None]) -> None: ...
    def write_loose(self, dir: str, *, tables: bool = True) -> None: ...

@final
class Table:
    @property
    def column_names(self) -> list[str]: ...
    def column(self, name: str) -> Sequence[Any]: ...
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...

@final
class SenderContext:
    """What a sender starts with."""

    @property
    def packet_bytes(self) -> int: ...
    @property
    def initial_window(self) -> float: ...
    @property
    def seed(self) -> int: ...

@final
class RouterContext:
    """What a router starts with."""

    @property
    def link(self) -> int: ...
    @property
    def capacity_bps(self) -> float: ...
    @property
    def packet_bytes(self) -> int: ...
    @property
    def limit_bytes(self) -> int | None: ...
    @property
    def limit_packets(self) -> int | None: ...
    @property
    def seed(self) -> int: ...

@final
class Departing:
    """A data packet about to leave."""

    @property
    def now(self) -> float: ...
    @property
    def size(self) -> int: ...
    @property
    def seq(self) -> int: ...
    @property
    def srtt(self) -> float | None: ...
    @property
    def in_flight(self) -> int: ...
    @property
    def retransmission(self) -> bool: ...

@final
class Ack:
    """An ACK that reports newly delivered data."""

    @property
    def now(self) -> float: ...
    @property
    def delivered(self) -> int: ...
    @property
    def acked(self) -> int: ...
    @property
    def rtt(self) -> float | None: ...
    @property
    def srtt(self) -> float | None: ...
    @property
    def min_rtt(self) -> float | None: ...
    @property
    def in_flight(self) -> int: ...
    @property
    def recovering(self) -> bool: ...
    @property
    def header(self) -> tuple[float, float, float]: ...
    @property
    def code(self) -> int: ...
    @property
    def ece(self) -> bool: ...

@final
class Loss:
    """A loss event."""

    @property
    def now(self) -> float: ...
    @property
    def kind(self) -> Literal["dupacks", "timeout", "ecn"]: ...
    @property
    def in_flight(self) -> int: ...
    @property
    def lost(self) -> int: ...
    @property
    def repeated(self) -> bool: ...

@final
class Packet:
    """A packet at a router."""

    ecn: int
    header: tuple[float, float, float] | None
    @property
    def now(self) -> float: ...
    @property
    def flow(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def is_ack(self) -> bool: ...
    @property
    def queued_for(self) -> float: ...

@final
class Backlog:
    """What waits at a link."""

    @property
    def packets(self) -> int: ...
    @property
    def bytes(self) -> int: ...
