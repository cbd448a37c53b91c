// Debian's Chromium, driven by playwright-core, and a file server without a configuration.
import { createReadStream, existsSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { createGzip } from "node:zlib";
import { chromium } from "playwright-core";

export const site = fileURLToPath(new URL("../../target/lab/site/", import.meta.url));
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };
const places = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
export const executablePath = places.find((place) => place && existsSync(place));
export const missing = executablePath ? false : "no chromium here: apt install chromium, or name one by CHROMIUM";

export function serve(port = 0) {
  const server = createServer((request, response) => {
    const path = normalize(new URL(request.url, "http://x").pathname).replace(/^[/.]+/, "");
    const file = join(site, path === "" ? "index.html" : path);
    if (!file.startsWith(site) || !existsSync(file)) {
      response.writeHead(404).end();
      return;
    }
    const headers = { "content-type": TYPES[extname(file)] ?? "application/octet-stream", "content-encoding": "gzip" };
    response.writeHead(200, headers);
    createReadStream(file).pipe(createGzip()).pipe(response);
  });
  return new Promise((resolve) => server.listen(port, "127.0.0.1", () => resolve(server)));
}

/** A browser and its pages; every page collects what must not be: console errors and requests elsewhere. */
export async function browse() {
  const server = await serve();
  const base = `http://127.0.0.1:${server.address().port}/`;
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const page = async (hash = "", options = {}) => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    const opened = await context.newPage();
    const faults = [];
    opened.on("console", (message) => message.type() === "error" && faults.push(message.text()));
    opened.on("pageerror", (error) => faults.push(String(error)));
    opened.on("request", (request) => {
      if (!request.url().startsWith(base) && !/^(blob|data):/.test(request.url())) faults.push(`asked for ${request.url()}`);
    });
    await opened.goto(base + hash);
    await opened.waitForSelector("body[data-ready=true]", { timeout: 30_000 });
    return Object.assign(opened, { faults });
  };
  const close = async () => {
    await browser.close();
    server.close();
  };
  return { browser, base, page, close, server };
}
