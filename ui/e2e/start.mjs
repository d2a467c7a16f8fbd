// Measures the first start of a new user: the binary alone in an empty root, no network, a browser that opens the page.
// Prints one JSON line. Runs where the loopback is the only network; see the proof `demo-start`.
//
//   ROOT=folder-with-nothing-but-the-binary node e2e/start.mjs

import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { createInterface } from "node:readline";
import { openBrowser, WIDE } from "./browser.mjs";

const ROOT = process.env.ROOT;
const STEPS = 6;
const SCRIPT_MS_MAX = 150_000;
const END_MS_MAX = 5_000;

/** Starts the demo inside the empty root; `next` returns its next line. */
function demo(...options) {
  const began = performance.now();
  const child = spawn("chroot", [ROOT, "/mainstay", "demo", "--port", "0", "-o", "json", ...options], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { PATH: process.env.PATH },
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = new Promise((resolve) => child.on("exit", (code, signal) => resolve({ code, signal })));
  return { began, child, ended, next: async () => JSON.parse((await lines.next()).value) };
}

/** Reads the lines of the demo until every step of the script has happened. */
async function script(running) {
  const lines = [];
  while (lines.filter((line) => line.event === "step").length < STEPS) {
    lines.push(await within(SCRIPT_MS_MAX, running.next(), "a step of the demo script"));
  }
  return lines;
}

async function within(limit, promise, what) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} did not come within ${limit} ms`)), limit);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Peak memory of the process, in kB. */
async function peak(pid) {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)[1]);
}

const interfaces = Object.keys(networkInterfaces()).filter((name) => name !== "lo");
const browser = await openBrowser();
const page = await browser.newPage({ viewport: WIDE });

const running = demo();
const { address } = await within(10_000, running.next(), "the address");
const printed = performance.now() - running.began;
await page.goto(`${address}/#/map`);
await page.waitForFunction(() => window.__mainstay?.ready, undefined, { polling: "raf", timeout: 30_000 });
const drawn = performance.now() - running.began;
const lines = await script(running);
const storyMs = performance.now() - running.began;
const peakKb = await peak(running.child.pid);
const asked = performance.now();
running.child.kill("SIGINT");
const last = await within(END_MS_MAX, running.next(), "the last line");
const { code, signal } = await within(END_MS_MAX, running.ended, "the end");
const endMs = performance.now() - asked;
await browser.close();

// The same seed gives the same steps at every speed.
const again = demo("--speed", "3600");
await again.next();
const repeated = await script(again);
again.child.kill("SIGINT");
await within(END_MS_MAX, again.ended, "the end");

const figures = {
  printedMs: Math.round(printed),
  drawnMs: Math.round(drawn),
  storyMs: Math.round(storyMs),
  endMs: Math.round(endMs),
  peakKb,
  exit: signal ?? code,
  violations: last.violations,
  same: JSON.stringify(lines) === JSON.stringify(repeated),
  interfaces,
};
process.stdout.write(`${JSON.stringify(figures)}\n`);
