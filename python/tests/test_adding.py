"""docs/howto/adding-a-*.md are followed to the letter in a copy of the sources."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = "\n".join(
    (ROOT / f"docs/howto/adding-a-{what}.md").read_text(encoding="utf-8")
    for what in ("protocol", "queue", "header")
)
BLOCK = re.compile(
    r"^`(?P<file>crates/[^`]+)`[^\n]*\n\n```rust(?P<how> \w+)?\n(?P<code>.*?)^```$", re.M | re.S
)

TABLES = {" header": "headers", " protocol": "protocols", " queue": "queues"}


def follow(tree: Path) -> int:
    """Do what the page says in `tree`; the number of files and lines that were added."""
    steps = list(BLOCK.finditer(PAGE))
    for step in steps:
        file, how, code = tree / step["file"], step["how"], step["code"]
        if how is None:
            assert not file.exists()
            file.write_text(code, encoding="utf-8")
            continue
        text = file.read_text(encoding="utf-8")
        if how == " append":
            text += code
        else:
            # Behind the last entry of the table.
            start = text.index(f"\n{TABLES[how]}! {{\n")
            end = text.index("\n}\n", start)
            text = f"{text[:end]}\n{code.rstrip()}{text[end:]}"
        file.write_text(text, encoding="utf-8")
    return len(steps)


def copy(tree: Path, crates: list[str]) -> None:
    for crate in crates:
        ignored = shutil.ignore_patterns("target", "*proptest-regressions")
        shutil.copytree(ROOT / "crates" / crate, tree / "crates" / crate, ignore=ignored)
    for name in ("Cargo.lock", "rust-toolchain.toml", "clippy.toml"):
        shutil.copy(ROOT / name, tree / name)
    manifest = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    members = ", ".join(f'"crates/{crate}"' for crate in crates)
    manifest, changed = re.subn(
        r"^members = \[.*?\]", f"members = [{members}]", manifest, flags=re.M | re.S
    )
    manifest = re.sub(r"^default-members = \[.*?\]\n", "", manifest, flags=re.M | re.S)
    assert changed == 1
    (tree / "Cargo.toml").write_text(manifest, encoding="utf-8")


def cargo(tree: Path, *arguments: str) -> str:
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not installed")
    environment = {
        **os.environ,
        "CARGO_TARGET_DIR": str(ROOT / "target"),
        "CARGO_TERM_COLOR": "never",
    }
    done = subprocess.run(
        ["cargo", *arguments],
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_a_toy_is_one_file_and_one_line(tmp_path: Path) -> None:
    """The registry's property tests take it in; nothing but its file and its lines is touched."""
    copy(tmp_path, ["units", "cc"])
    assert follow(tmp_path) == 11
    said = cargo(tmp_path, "test", "--profile", "ci", "-p", "clearpipe-cc")
    assert "tcp::toy::tests::the_window_adds_and_multiplies ... ok" in said
    assert "dial::tests::half_the_packets_are_marked_at_half_the_range ... ok" in said
    assert "windows_stay_finite_and_at_least_one_packet ... ok" in said
    assert "headers_survive_the_wire ... ok" in said
    registry = (tmp_path / "crates/cc/src/registry.rs").read_text(encoding="utf-8")
    assert registry.count("toy::Toy") == 2
    assert registry.count("dial::Dial") == 3


RUNS = """
use units::{{Span, Time}};

#[test]
fn toys() {{
    let text = r#"{toys}"#;
    let parsed = scenario::parse("toys.toml", text, &[]).unwrap();
    let outcome = clearpipe_net::simulate(&parsed.scenario, 1, 0, &mut |_| true);
    let link = &outcome.tables.links[0];
    assert!(link.utilization_ratio > 0.9, "{{link:?}}");
    assert!(link.queue_mean_pkts < 12.0, "{{link:?}}");
    assert!(link.drops_pkts > 0, "{{link:?}}");
}}

#[test]
fn dials() {{
    let text = r#"{dials}"#;
    let scenario = scenario::parse("dials.toml", text, &[]).unwrap().scenario;
    let outcome = clearpipe_net::simulate(&scenario, 1, 0, &mut |_| true);
    let link = &outcome.tables.links[0];
    assert!(link.utilization_ratio > 0.99, "{{link:?}}");
    assert!((12.0..20.0).contains(&link.queue_mean_pkts), "{{link:?}}");
    let told = (0..20_u64).map(|i| {{
        let at = Time::ZERO + Span::from_millis(15_000 + 7 * i);
        let facts = clearpipe_net::explain(&scenario, (1, 0), (0, at), &mut |_| true);
        let ack = facts.unwrap().unwrap().last_ack.unwrap();
        assert_eq!(ack.header[0].name, "h_dial");
        ack.code.unwrap().name
    }});
    let marks = told.filter(|name| *name == "a queue above the packet's threshold").count();
    assert!((2..19).contains(&marks), "{{marks}} of 20");
}}
"""

READS = """
use cc::registry::AnyRouterParams;

#[test]
fn the_field_is_read_out_of_a_packet() {
    let mut packet = [0; 40];
    (packet[0], packet[3], packet[9], packet[32]) = (0x45, 40, 6, 5 << 4);
    packet[4..6].copy_from_slice(&[0x12, 0x34]);
    for (queue, id) in [("dial", Some(0x1234)), ("toy", None)] {
        let queue = AnyRouterParams::named(queue);
        let seen = clearpipe_emulator::wire::read(&packet, queue.as_ref()).unwrap();
        assert_eq!(seen.header.ip_id(), id);
    }
}
"""


@pytest.mark.long
def test_the_toys_run_in_the_engine(tmp_path: Path) -> None:
    """Three flows over each of the page's queues: the line is busy, and what waits stays near the
    threshold, or where half the packets are marked. `explain` and the emulator know the header."""
    crates = [path.name for path in sorted((ROOT / "crates").iterdir())]
    copy(tmp_path, crates)
    follow(tmp_path)
    toys, dials = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.M | re.S)
    runs, reads = (tmp_path / f"crates/{crate}/tests/toys.rs" for crate in ("net", "emulator"))
    runs.write_text(RUNS.format(toys=toys, dials=dials), encoding="utf-8")
    reads.write_text(READS, encoding="utf-8")
    packages = ["-p", "clearpipe-net", "-p", "clearpipe-emulator"]
    cargo(tmp_path, "test", "--profile", "ci", *packages, "--test", "toys")
