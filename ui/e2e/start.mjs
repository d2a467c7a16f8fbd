// What a newcomer lives through: the binary alone in an empty root, no network, a browser that opens the page. Prints one
// JSON line of what was measured. Meant to be run where the loopback is the only network; see the proof `demo-start`.
//
//   ROOT=folder-with-nothing-but-the-binary node e2e/start.mjs

import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { createInterface } from "node:readline";
import { openBrowser, WIDE } from "./browser.mjs";

const ROOT = process.env.ROOT;
const STEPS = 6;
const STORY_MS_MAX = 150_000;
const END_MS_MAX = 5_000;

/** Starts the demo inside the empty root; answers its lines as they come. */
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

/** Reads the story; answers its lines and how long it took. */
async function story(running) {
  const told = [];
  while (told.filter((line) => line.event === "step").length < STEPS) {
    told.push(await within(STORY_MS_MAX, running.next(), "a step of the story"));
  }
  return told;
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

/** The most memory the process has ever held, in kB. */
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
const told = await story(running);
const storyMs = performance.now() - running.began;
const peakKb = await peak(running.child.pid);
const asked = performance.now();
running.child.kill("SIGINT");
const last = await within(END_MS_MAX, running.next(), "the last line");
const { code, signal } = await within(END_MS_MAX, running.ended, "the end");
const endMs = performance.now() - asked;
await browser.close();

// The same seed tells the same story, however fast.
const again = demo("--speed", "3600");
await again.next();
const retold = await story(again);
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
  same: JSON.stringify(told) === JSON.stringify(retold),
  interfaces,
};
process.stdout.write(`${JSON.stringify(figures)}\n`);
