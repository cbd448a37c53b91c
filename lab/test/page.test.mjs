// The page as a student has it, in Chromium. Every test ends with no console error and no request
// to anybody else. SHOTS=folder keeps screenshots.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import explorables from "../explorables.js";
import { pack } from "../src/share.js";
import { browse, missing, site } from "./browser.mjs";
import { engine, example, root } from "./engine.mjs";
import { golden } from "./golden.mjs";

const protocols = JSON.parse(engine.protocols());
let browser;
before(async () => {
  if (!missing) browser = await browse();
});
after(() => browser?.close());

const check = (name, body) =>
  test(name, { skip: missing, timeout: 120_000 }, async (t) => {
    const pages = [];
    const open = async (...options) => {
      const page = await browser.page(...options);
      pages.push(page);
      return page;
    };
    await body(open, t);
    for (const page of pages) {
      assert.deepEqual(page.faults, []);
      await page.context().close();
    }
  });

const ready = (page) => page.waitForFunction(() => /^Ready/.test(document.querySelector("#status").textContent), null, { timeout: 60_000 });
const fingerprints = (page) => page.locator(".fingerprint").allTextContents();
const tab = (page, name) => page.getByRole("tab", { name }).click();
const slide = (page, id, value) =>
  page.locator(id).evaluate((input, to) => {
    input.value = String(to);
    input.dispatchEvent(new Event("input", { bubbles: true }));
  }, value);
/** The mean queue that the page prints. */
const meanQueue = async (page, lane = 0) =>
  Number(/mean queue ([\d.]+)/.exec(await page.locator(".lane").nth(lane).locator(".numbers").textContent())[1]);

/** As a hand would: the browser's own way of filling puts styled elements into the editor. */
async function type(page, label, text) {
  await page.getByLabel(label).focus();
  await page.keyboard.press("Control+A");
  await page.keyboard.press("Backspace");
  await page.keyboard.insertText(text);
}

async function write(page, toml) {
  await tab(page, "Text");
  await type(page, "Scenario in TOML", toml);
  await page.locator("#apply").click();
}

check("every committed fingerprint comes out in the page", async (open) => {
  const page = await open();
  for (const { name, toml, sets, fingerprint } of golden(root, protocols, example)) {
    const found = await page.evaluate(([text, options]) => clearpipeLab.run(text, options), [toml, sets]);
    assert.equal(found.fingerprint, fingerprint, name);
  }
});

check("a listed scenario prints the command's fingerprint, shown in slices", async (open) => {
  const page = await open("#xcp-fig10");
  await ready(page);
  const row = golden(root, protocols, example).find((one) => one.name === "fig10" && one.seed === "1");
  assert.deepEqual(await fingerprints(page), [row.fingerprint]);
});

check("a student changes the RTT and sees another queue", async (open) => {
  const page = await open("#base-case-sack-red");
  await write(page, example("xcp-fig10").replaceAll('"xcp"', '"newreno"').replace('queue = "newreno"', 'queue = "droptail"'));
  await ready(page);
  const [before_] = await fingerprints(page);
  const short = await meanQueue(page);
  await tab(page, "Knobs");
  await slide(page, "#knob-rtt", 170);
  await page.waitForFunction((old) => document.querySelector(".fingerprint") && document.querySelector(".fingerprint").textContent !== old, before_);
  const long = await meanQueue(page);
  assert.ok(long > 2 * short, `a buffer of one longer BDP holds more: ${short} and ${long}`);
  await tab(page, "Text");
  assert.match(await page.locator("#toml .cm-content").innerText(), /rtt = "3\d\dms"/);
});

check("a page that is slow to hear of a new run misses nothing of it", async (open) => {
  const page = await open("#base-case-sack-red");
  // The page stands still between asking for a run and hearing that it is there.
  await page.evaluate(() => {
    const { postMessage } = Worker.prototype;
    Worker.prototype.postMessage = function (data, ...rest) {
      postMessage.call(this, data, ...rest);
      const until = performance.now() + (data.do === "open" ? 3000 : 0);
      while (performance.now() < until);
    };
  });
  await write(page, `${example("xcp-fig10")}\n`);
  await ready(page);
  const row = golden(root, protocols, example).find((one) => one.name === "fig10" && one.seed === "1");
  assert.deepEqual(await fingerprints(page), [row.fingerprint]);
  await slide(page, "#scrub", 1000);
  await page.waitForFunction(() => /\d % busy/.test(document.querySelector(".now").textContent));
});

check("run, pause, scrub back, step and branch", async (open) => {
  const page = await open("#xcp-fig10");
  await ready(page);
  await page.locator("#play").click();
  await page.waitForFunction(() => parseFloat(document.querySelector("#time").textContent) > 2);
  await page.locator("#play").click();
  const paused = await page.locator("#time").textContent();
  await page.waitForTimeout(300);
  assert.equal(await page.locator("#time").textContent(), paused);
  await slide(page, "#scrub", 450);
  assert.match(await page.locator("#time").textContent(), /^4\.50/);
  await page.locator("#step").click();
  await page.locator("#inspect").waitFor();
  assert.match(await page.locator("#packet").textContent(), /leaves4\.5\d+ s on bottleneck.*h_cwnd.*h_rtt.*h_feedback/);

  await slide(page, "#scrub", 450);
  await tab(page, "Knobs");
  await page.locator("#branch-key").selectOption("links.bottleneck.rate");
  await page.locator("#branch-value").fill("20Mbps");
  await page.locator("#branch").click();
  await page.waitForFunction(() => document.querySelectorAll(".fingerprint").length === 2);
  const [trunk, branched] = await fingerprints(page);
  assert.notEqual(trunk, branched);
  const row = golden(root, protocols, example).find((one) => one.name === "fig10" && one.seed === "1");
  assert.equal(trunk, row.fingerprint);
  // What the engine refuses it refuses here.
  await page.locator("#branch-key").selectOption("key=value");
  await page.locator("#branch-value").fill("links.bottleneck.owd=1s");
  await page.locator("#branch").click();
  await page.locator("#error").waitFor();
  assert.match(await page.locator("#error").textContent(), /links.bottleneck.owd: decides about what has already happened/);
  await page.locator("#branch-value").fill("duration=100000s");
  await page.locator("#branch").click();
  await page.waitForFunction(() => /too large for the page/.test(document.querySelector("#error").textContent));
  assert.equal((await fingerprints(page)).length, 2);
});

check("a branch in a link is the same branch when it is opened", async (open) => {
  const page = await open("#xcp-fig10");
  await ready(page);
  await slide(page, "#scrub", 600);
  await tab(page, "Knobs");
  await page.locator("#branch-value").fill("30Mbps");
  await page.locator("#branch").click();
  await page.waitForFunction(() => document.querySelectorAll(".fingerprint").length === 2);
  const shared = await fingerprints(page);
  await page.locator("#share").click();
  await page.waitForFunction(() => location.hash.startsWith("#v1."));
  const { hash } = new URL(page.url());
  const other = await open(hash);
  await other.waitForFunction(() => document.querySelectorAll(".fingerprint").length === 2);
  assert.deepEqual(await fingerprints(other), shared);
  // Its past is there, too, and the fluid engine's curve goes on through the branch.
  await slide(other, "#scrub", 300);
  await other.waitForFunction(() => [...document.querySelectorAll(".lane .now:not(.header)")].every((one) => /\d % busy/.test(one.textContent)));
  await other.locator(".lane").nth(1).getByText("Dashed: the fluid engine.", { exact: true }).waitFor();
  await slide(other, "#scrub", 600);
  assert.match(await other.locator("#time").textContent(), /^[6-9]/);
});

check("a report's link opens the run it was made of, in the words of its scenario", async (open) => {
  const row = golden(root, protocols, example).find((one) => one.name === "red" && one.seed === "1");
  const page = await open(`#${await pack({ lanes: [{ toml: row.toml, label: "", sets: row.sets, rep: 0 }] })}`);
  await ready(page);
  assert.deepEqual(await fingerprints(page), [row.fingerprint]);
  // The knobs have their lines: the text was changed, not written anew.
  assert.equal(await page.locator("#knob-rtt").isVisible(), true);
  await tab(page, "Text");
  assert.match(await page.locator("#toml .cm-content").innerText(), /duration = "12s"/);
});

check("a run that is refused leaves the one that is shown as it is", async (open) => {
  const page = await open("#xcp-fig10");
  await ready(page);
  const before_ = await fingerprints(page);
  await write(page, example("xcp-fig10").replace('"45Mbps"', '"100Gbps"').replace('"10s"', '"10000s"'));
  await page.waitForFunction(() => /too large/.test(document.querySelector("#error").textContent));
  await page.waitForFunction(() => /^Ready/.test(document.querySelector("#status").textContent));
  assert.deepEqual(await fingerprints(page), before_);
  await slide(page, "#scrub", 450);
  await page.locator("#step").click();
  await page.locator("#inspect").waitFor();
});

check("of links that are followed one upon another the last is shown", async (open) => {
  const page = await open("#xcp-fig10");
  await ready(page);
  const slow = await pack({ lanes: [{ toml: example("two-paths"), label: "slow", sets: ["seed=2"] }] });
  await page.evaluate((hash) => {
    location.hash = hash;
    setTimeout(() => (location.hash = "xcp-fig12"), 0);
  }, slow);
  await page.waitForFunction(() => document.querySelector("#example").value === "xcp-fig12");
  await ready(page);
  await page.waitForTimeout(500);
  assert.equal(await page.locator("#example").inputValue(), "xcp-fig12");
});

check("two schemes stand side by side and keep step", async (open) => {
  const page = await open("#xcp-fig10");
  await ready(page);
  await tab(page, "Knobs");
  await page.locator("#compare").selectOption("vcp");
  await page.waitForFunction(() => document.querySelectorAll(".fingerprint").length === 2);
  const labels = await page.locator(".lane h2").allTextContents();
  assert.deepEqual(labels, ["xcp", "vcp"]);
  const [xcp, vcp] = await fingerprints(page);
  assert.notEqual(xcp, vcp);
  await page.getByText("Dashed: the fluid engine.").nth(1).waitFor();
  await page.locator("#compare").selectOption("bbr");
  await page.getByText(/^No fluid curve: .*"bbr" has no fluid form\.$/).waitFor();
});

check("an explorable from beginning to end", async (open) => {
  const page = await open(`#explore-${explorables[0].id}`);
  await ready(page);
  const small = await fingerprints(page);
  await page.locator("#guide-change").selectOption("2");
  await page.waitForFunction((old) => document.querySelector(".fingerprint") && document.querySelector(".fingerprint").textContent !== old, small[0]);
  assert.match(await page.locator(".numbers").textContent(), /utilization 1,/);
  assert.equal(await page.locator("#guide-why").isVisible(), false);
  await page.getByLabel("half the BDP").check();
  assert.match(await page.locator("#guide-verdict").textContent(), /^Not quite\. Look for the smallest buffer/);
  await page.getByLabel("one BDP", { exact: true }).check();
  assert.match(await page.locator("#guide-verdict").textContent(), /^Right/);
  assert.match(await page.locator("#guide-why").textContent(), /B ≥ C·T/);
  await page.locator("#guide-next").click();
  assert.match(await page.locator(".question").textContent(), /slow start lose/);
  // Whoever reads on begins at the top.
  assert.equal(await page.evaluate(() => document.activeElement.className), "question");
  const { top, bottom } = await page.locator("#explorable").evaluate((one) => one.getBoundingClientRect());
  assert.ok(top >= 0 && bottom <= 900, `${top} to ${bottom}`);
});

check("two choices of an explorable stand side by side, and a new run takes a wrong answer back", async (open) => {
  const page = await open("#explore-xcp");
  await ready(page);
  const [first] = await fingerprints(page);
  await page.getByLabel("neither: it waits for a loss").check();
  assert.match(await page.locator("#guide-verdict").textContent(), /^Not quite\. Look at φ/);
  await page.locator("#guide-beside").selectOption("1");
  await page.waitForFunction(() => document.querySelectorAll(".fingerprint").length === 2);
  const both = await fingerprints(page);
  assert.equal(both[0], first);
  assert.notEqual(both[1], first);
  assert.equal(await page.locator("#guide-verdict").textContent(), "");
  assert.deepEqual(await page.locator("#guide-see b").allTextContents(), (await page.locator(".lane h2").allTextContents()).map((label) => `${label}: `));
  await page.locator("#guide-beside").selectOption("");
  await page.waitForFunction(() => document.querySelectorAll(".fingerprint").length === 1);
  // Symbols below the line are elements; what a text says is never markup.
  await page.getByLabel("the fairness controller").check();
  assert.deepEqual(await page.locator(".equation p").nth(3).locator("sub").allTextContents(), ["feedback", "i", "i"]);
});

check("a controller of one's own races CUBIC and XCP, and reaches nothing", async (open, t) => {
  let visits = 0;
  const elsewhere = createServer((_, response) => {
    visits += 1;
    response.writeHead(200, { "access-control-allow-origin": "*", "content-type": "text/javascript" }).end("");
  });
  await new Promise((resolve) => elsewhere.listen(0, "127.0.0.1", resolve));
  t.after(() => elsewhere.close());
  const there = `http://127.0.0.1:${elsewhere.address().port}`;
  const page = await open("#xcp-fig10");
  await ready(page);
  await tab(page, "Your own");
  await page.locator("#race").click();
  await page.waitForFunction(() => document.querySelectorAll(".fingerprint").length === 3, null, { timeout: 60_000 });
  assert.deepEqual(await page.locator(".lane h2").allTextContents(), ["Mine (yours)", "cubic", "xcp"]);
  const sees = `class Spy extends Sender {
    on_ack() {
      const there = ["fetch", "XMLHttpRequest", "WebSocket", "EventSource", "importScripts", "indexedDB", "caches",
        "BroadcastChannel", "Worker", "document", "window", "self", "postMessage", "navigator", "location", "setTimeout"]
        .filter((name) => typeof globalThis[name] !== "undefined");
      let made = "no code";
      try { made = String((() => {}).constructor("return 1")()); } catch {}
      import("${there}/x.js").catch(() => {});
      throw new Error("sees " + there.join() + "; makes " + made);
    }
  }`;
  await type(page, "Controller in JavaScript", sees);
  await page.locator("#race").click();
  await page.waitForFunction(() => /sees/.test(document.querySelector("#error").textContent));
  assert.match(await page.locator("#error").textContent(), /sees ; makes no code$/);
  await page.waitForTimeout(500);
  assert.equal(visits, 0);
  // The attempt itself is seen here, before the policy refuses it.
  page.faults.splice(0, page.faults.length, ...page.faults.filter((fault) => !fault.includes(there)));
});

check("a controller that never returns is ended, and the page goes on", async (open) => {
  const page = await open("#xcp-fig10");
  await ready(page);
  await tab(page, "Your own");
  await type(page, "Controller in JavaScript", "class Stuck extends Sender { on_ack() { for (;;); } }");
  await page.locator("#race").click();
  await page.waitForFunction(() => /was ended/.test(document.querySelector("#error").textContent), null, { timeout: 30_000 });
  await write(page, example("xcp-fig10"));
  await page.waitForFunction(() => document.querySelectorAll(".fingerprint").length === 1);
});

check("hostile links and scenarios get words, and no script of theirs runs", async (open) => {
  const page = await open("#v1.AAAA");
  assert.match(await page.locator("#error").textContent(), /This link cannot be opened/);
  const evil = example("xcp-fig10").replace("[flows.fwd]", '[flows."<img src=x onerror=alert(1)>"]');
  await write(page, evil);
  await page.waitForFunction(() => !document.querySelector("#error").hidden || document.querySelector(".fingerprint"));
  await write(page, example("xcp-fig10").replace('name = "xcp-fig10"', 'name = "<script>alert(1)</script>"'));
  await page.waitForTimeout(500);
  assert.equal(await page.locator("img, main script").count(), 0);
  await write(page, "schema = 1\nnme = 3");
  await page.waitForFunction(() => /unknown key "nme"/.test(document.querySelector("#error").textContent));
  await write(page, example("xcp-fig10").replace('"45Mbps"', '"100Gbps"').replace('"10s"', '"10000s"'));
  await page.waitForFunction(() => /too large for the page: about .* packet-hops, some \d+ s here/.test(document.querySelector("#error").textContent));
  await write(page, `schema = 1\nx = ${"[".repeat(20000)}`);
  await page.waitForFunction(() => !/too large/.test(document.querySelector("#error").textContent));
  await write(page, example("xcp-fig10"));
  await page.waitForFunction(() => document.querySelectorAll(".fingerprint").length === 1);
});

check("text is completed from the schema", async (open) => {
  const page = await open("#xcp-fig10");
  await tab(page, "Text");
  await type(page, "Scenario in TOML", "schema = 1\n[topology]\nki");
  await page.keyboard.press("Control+Space");
  await page.locator(".cm-tooltip-autocomplete").waitFor();
  assert.match(await page.locator(".cm-tooltip-autocomplete").textContent(), /kind/);
});

check("scenario, curves and picture can be downloaded", async (open) => {
  const page = await open("#xcp-fig10");
  await ready(page);
  const take = async (id) => {
    const waits = page.waitForEvent("download");
    await page.locator("#downloads").evaluate((menu) => (menu.open = true));
    await page.locator(id).click();
    const file = await waits;
    const parts = [];
    for await (const part of await file.createReadStream()) parts.push(part);
    return [file.suggestedFilename(), Buffer.concat(parts)];
  };
  assert.deepEqual(await take("#get-toml"), ["xcp-fig10.toml", Buffer.from(example("xcp-fig10"))]);
  const [name, csv] = await take("#get-csv");
  assert.equal(name, "xcp-fig10.csv");
  assert.match(csv.toString(), /^series,of,id,t_s,value\ncwnd_pkts,flow,0,/);
  assert.ok(csv.toString().split("\n").length > 10_000);
  const [, png] = await take("#get-png");
  assert.equal(png.subarray(1, 4).toString(), "PNG");
});

check("it works without a network once it was there, and opened as a file", async (open) => {
  const page = await open("#xcp-fig10");
  await ready(page);
  await page.evaluate(() => navigator.serviceWorker.ready);
  await page.waitForFunction(() => navigator.serviceWorker.controller);
  await page.context().setOffline(true);
  await page.goto("about:blank");
  await page.goto(`${browser.base}#xcp-fig10`);
  await ready(page);
  const online = await fingerprints(page);
  // What the page says of itself there.
  const context = await browser.browser.newContext();
  const local = await context.newPage();
  await local.goto(`file://${site}index.html#xcp-fig10`);
  await ready(local);
  assert.deepEqual(await fingerprints(local), online);
  await context.close();
});

check("keys alone are enough: tabs, sliders, running", async (open) => {
  const page = await open("#xcp-fig10");
  await ready(page);
  await page.locator("#tab-guide").focus();
  await page.keyboard.press("ArrowRight");
  assert.equal(await page.evaluate(() => document.activeElement.id), "tab-knobs");
  await page.locator("#play").focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.body.dataset.playing === "true");
  await page.locator("#scrub").focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("PageUp");
  assert.match(await page.locator("#time").textContent(), /^1\.00/);
});

check("at 360, 800 and 1400 pixels nothing is wider than the window, light and dark", async (open) => {
  for (const colorScheme of ["light", "dark"]) {
    const page = await open(`#explore-vcp-xcp`, { colorScheme });
    await ready(page);
    await slide(page, "#scrub", 700);
    for (const [width, height] of [[360, 740], [800, 1000], [1400, 900]]) {
      await page.setViewportSize({ width, height });
      await page.waitForTimeout(500);
      const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(over <= 0, `${over} pixels too wide at ${width}`);
      if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/${width}-${colorScheme}.png`, fullPage: true });
    }
  }
});
