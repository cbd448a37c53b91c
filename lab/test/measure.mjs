// What the issue asks to be measured, printed: `node test/measure.mjs`, after `make lab-site`. Times
// are this machine's, with its load beside them; they are no test.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { browse } from "./browser.mjs";
import { example, root } from "./engine.mjs";

const load = () => `load ${loadavg()[0].toFixed(1)}`;
const native = process.argv[2];
const { browser, page, close } = await browse();
try {
  const lab = await page("#xcp-fig10");
  for (const name of ["base-case-xcp", "base-case-vcp", "base-case-sack-red"]) {
    for (let round = 0; round < 3; round++) {
      const wall = await lab.evaluate(async (toml) => {
        const start = performance.now();
        const { fingerprint } = await clearpipeLab.run(toml);
        return [(performance.now() - start) / 1000, fingerprint];
      }, example(name));
      let beside = "";
      if (native && existsSync(native)) {
        const file = fileURLToPath(new URL(`python/clearpipe/examples/${name}.toml`, root));
        const start = performance.now();
        const out = execFileSync(native, [file], { encoding: "utf8" }).trim().split("\n").at(-1);
        beside = `, native ${((performance.now() - start) / 1000).toFixed(2)} s ${out === wall[1] ? "(the same fingerprint)" : `BUT ${out}`}`;
      }
      console.log(`${name}: 120 s simulated in Chromium in ${wall[0].toFixed(2)} s${beside}, ${load()}`);
    }
  }
  await lab.context().close();

  // Playing: a run of 60 flows from its start, and then packets close by.
  const playing = await page("#base-case-xcp");
  await playing.waitForTimeout(500);
  await browser.startTracing(playing, { categories: ["devtools.timeline", "toplevel"] });
  await playing.locator("#play").click();
  await playing.waitForTimeout(6000);
  const fast = await playing.evaluate(() => document.body.dataset.fps);
  await playing.locator("#speed").evaluate((input) => {
    input.value = "5";
    input.dispatchEvent(new Event("input", { bubbles: true }));
  });
  await playing.waitForTimeout(4000);
  const slow = await playing.evaluate(() => document.body.dataset.fps);
  const trace = JSON.parse((await browser.stopTracing()).toString());
  const names = trace.traceEvents.filter((event) => event.name === "thread_name");
  const main = names.filter((event) => event.args.name === "CrRendererMain").map(({ pid, tid }) => `${pid}.${tid}`);
  const tasks = trace.traceEvents.filter(
    ({ ph, name, pid, tid }) => ph === "X" && /RunTask$/.test(name) && main.includes(`${pid}.${tid}`),
  );
  const ms = tasks.map(({ dur, tdur }) => ({ wall: dur / 1000, cpu: (tdur ?? dur) / 1000 })).sort((a, b) => b.wall - a.wall);
  const long = ms.filter(({ wall }) => wall > 50);
  const said = ({ wall, cpu }) => `${wall.toFixed(1)} ms (${cpu.toFixed(1)} ms of processor)`;
  console.log(`${ms.length} tasks on the main thread in 10 s of playing, ${long.length} above 50 ms; longest ${ms.slice(0, 3).map(said).join(", ")}, ${load()}`);
  const busy = [...ms].sort((a, b) => b.cpu - a.cpu)[0];
  console.log(`the longest by processor time: ${said(busy)}`);
  console.log(`frames a second: ${fast} playing the whole, ${slow} among packets`);
  console.log(`console errors: ${playing.faults.length}`);
} finally {
  await close();
}
