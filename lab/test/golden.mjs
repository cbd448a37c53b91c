// The committed fingerprints, and the runs they are of. crates/net/tests/golden.rs is where these
// runs are defined; a row there that has none here fails the test.
import { readFileSync } from "node:fs";

const RUNS = {
  xcp: ["base-case-xcp", ["duration=12s", "warmup=6s"]],
  vcp: ["base-case-vcp", ["duration=24s", "warmup=18s"]],
  red: ["base-case-sack-red", ["duration=12s", "warmup=6s"]],
  fig10: ["xcp-fig10", []],
  lot: ["parking-lot", ["duration=12s", "warmup=6s"]],
  paths: ["two-paths", ["duration=10s", "warmup=5s"]],
};

const small = (protocol, rate, queue) => `
schema = 1
name = "small"
duration = "12s"
warmup = "2s"
[topology]
kind = "dumbbell"
rate = "10Mbps"
rtt = "40ms"
buffer = "100pkt"
queue = ${queue}
loss = "0.2%"
[flows.long]
protocol = ${protocol}
${rate}
count = 3
start = "uniform(0s, 500ms)"
[flows.short]
protocol = ${protocol}
${rate}
direction = "reverse"
size = "200kB"
start = "1s"
`;

function queueRun(queue) {
  if (queue === "xcp-police") return small('"xcp"', "", '{ kind = "xcp", over = "xcp-police" }');
  if (queue.startsWith("xcp")) return small('"xcp"', "", `"${queue}"`);
  return small('{ kind = "sack", ecn = true }', "", `"${queue}"`);
}

/** `{ name, seed, fingerprint, parts, toml, sets }` for each row of golden/packet-engine.txt. */
export function golden(root, protocols, example) {
  const text = readFileSync(new URL("golden/packet-engine.txt", root), "utf8");
  const lines = text.split("\n").filter((line) => line && !line.startsWith("#"));
  const rows = [];
  for (let i = 0; i < lines.length; i += 2) {
    const [name, seed, fingerprint] = lines[i + 1].split(" ");
    const parts = lines[i].slice(`${name} ${seed} parts `.length).split(", ");
    rows.push({ name, seed, fingerprint, parts, ...scenario(name, protocols, example) });
  }
  return rows.map((row) => ({ ...row, sets: [...row.sets, `seed=${row.seed}`] }));
}

function scenario(name, protocols, example) {
  if (name in RUNS) return { toml: example(RUNS[name][0]), sets: RUNS[name][1] };
  const queue = /^small-queue-(.*)/.exec(name)?.[1];
  if (queue) return { toml: queueRun(queue), sets: [] };
  const recovery = /^small-recovery-(.*)/.exec(name)?.[1];
  if (recovery) {
    const cubic = `{ kind = "cubic", recovery = "${recovery}" }`;
    return { toml: small(cubic, "", '"droptail"'), sets: [] };
  }
  const info = protocols.find((one) => `small-${one.name}` === name);
  if (!info) throw new Error(`${name}: not a run that this test knows`);
  const rate = info.open_loop ? 'rate = "4Mbps"' : "";
  return { toml: small(`"${info.name}"`, rate, `"${info.router ?? "droptail"}"`), sets: [] };
}
