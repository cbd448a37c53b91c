"""Seals: the hashes of the core are those of Python's own JSON and hashlib."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from clearpipe import _core, seals


def value(random: Random, depth: int = 3) -> Any:
    """Of every kind of number, text and nesting that JSON has; the core writes 64 bits."""
    inner = depth - 1
    kinds: list[Callable[[], Any]] = [
        lambda: random.choice([None, True, False]),
        lambda: random.randint(-(2**63), 2**64 - 1) >> random.randrange(64),
        lambda: random.choice([0.0, -0.0, 1e15, 1e16, 1e-4, 9.999e-5, 5e-324, 1.7e308, 1e22]),
        lambda: random.uniform(-10, 10) * 10.0 ** random.randint(-30, 30),
        lambda: random.randint(-(10**6), 10**6) / 8,
        lambda: text(random),
        lambda: [value(random, inner) for _ in range(random.randrange(4))],
        lambda: {text(random): value(random, inner) for _ in range(random.randrange(4))},
    ]
    return random.choice(kinds if depth else kinds[:6])()


def text(random: Random) -> str:
    odd = '"\\/\b\f\n\r\t\x00\x1f\x7f\x80\u00e9\u2028\uffff\U0001d11e\U0010ffff'
    return "".join(random.choice(odd + "abc XYZ") for _ in range(random.randrange(8)))


def hashed(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def made(folder: Path, meta: bytes) -> dict[str, Any]:
    """The seal of a result with this meta.json, two tables, and what is none."""
    (folder / "series").mkdir(parents=True, exist_ok=True)
    files = {
        "meta.json": meta,
        "run.toml": b"schema = 1\n",
        "summary.json": b"{}",
        "flows.parquet": b"PAR1",
        "series/cwnd_pkts.parquet": b"\x00" * 300,
        "notes.txt": b"mine",
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)
    found: dict[str, Any] = json.loads(seals.seal(folder))
    return found


def test_meta_is_hashed_as_python_writes_it(tmp_path: Path) -> None:
    random = Random(30)
    for _ in range(1000):
        meta = {text(random): value(random) for _ in range(random.randrange(6))}
        sealed = made(tmp_path, json.dumps(meta, ensure_ascii=random.random() < 0.5).encode())
        whole = json.dumps(meta, sort_keys=True)
        assert sealed["files"]["meta.json"] == hashed(whole.encode()), whole


def test_a_seal_has_the_files_of_a_result_and_no_times(tmp_path: Path) -> None:
    times = {"wall_s": 0.25, "packet_hops_per_s": 1e9, "peak_rss_bytes": 1, "version": "9"}
    parts = {"parts": {"net": "7"}, "simulated_s": 1e-05, "name": "é𝄞\x7f"}
    sealed = made(tmp_path, json.dumps({**times, **parts}, indent=2).encode())
    text = '{"name": "\\u00e9\\ud834\\udd1e\\u007f", "parts": {"net": "7"}, "simulated_s": 1e-05}'
    files = {
        "flows.parquet": hashed(b"PAR1"),
        "meta.json": hashed(text.encode()),
        "run.toml": hashed(b"schema = 1\n"),
        "series/cwnd_pkts.parquet": hashed(b"\x00" * 300),
        "summary.json": hashed(b"{}"),
    }
    assert sealed["files"] == files
    assert sealed["result"] == hashed(json.dumps(files, sort_keys=True).encode())
    assert sealed["bytes"]["series/cwnd_pkts.parquet"] == 300


@pytest.mark.parametrize("meta", [b"[1]", b"{", b"\xff{}", b""])
def test_a_meta_that_is_no_object_is_hashed_as_it_is(meta: bytes, tmp_path: Path) -> None:
    assert made(tmp_path, meta)["files"]["meta.json"] == hashed(b"not JSON " + meta)


def test_what_is_wrong_is_told(tmp_path: Path) -> None:
    def seal() -> Path:
        path = tmp_path / "seal.json"
        made(tmp_path, b'{"identity": "ab"}')
        path.write_text(seals.seal(tmp_path), encoding="utf-8")
        assert seals.damage(tmp_path, "ab") is None
        return path

    def damage(name: str, reason: str) -> None:
        assert seals.damage(tmp_path) == (tmp_path / name, reason)
        assert seals.read(tmp_path, name) == (tmp_path / name, reason)

    seal()
    assert seals.read(tmp_path, "summary.json", "run.toml") == [b"{}", b"schema = 1\n"]
    assert seals.read(tmp_path, "notes.txt") == (tmp_path / "notes.txt", "not sealed")
    found = seals.damage(tmp_path, "cd")
    assert found == (tmp_path / "meta.json", "the result of another run, ab")
    (tmp_path / "summary.json").write_bytes(b"{")
    damage("summary.json", "1 bytes, 2 written")
    (tmp_path / "summary.json").write_bytes(b"[]")
    damage("summary.json", "not the bytes that were written")
    (tmp_path / "summary.json").unlink()
    damage("summary.json", "No such file or directory")

    path = seal()
    path.write_text(path.read_text().replace('"bytes":{"flows', '"bytes":{"flaws'))
    damage("seal.json", "not the bytes that were written")
    path.write_text(path.read_text().replace('"result":"', '"result":"0'))
    damage("seal.json", "not the bytes that were written")
    path.write_text("{}")
    damaged = seals.damage(tmp_path)
    assert damaged is not None
    assert damaged.reason.startswith("not readable (")
    path.unlink()
    damage("seal.json", "missing")


def test_seals_that_python_wrote_are_read(tmp_path: Path) -> None:
    """Versions before wrote them in Python, on several lines."""
    meta = json.dumps({"simulated_s": 1e-07, "warnings": ["\u2013"], "seed": 2**63 - 1})
    sealed = made(tmp_path, meta.encode())
    (tmp_path / "seal.json").write_text(json.dumps(sealed, indent=2) + "\n", encoding="utf-8")
    assert seals.damage(tmp_path) is None
    assert _core.sealed(tmp_path, ["meta.json"])[0] == [meta.encode()]
