// Starts the program that MAINSTAY names, as a new user would, and stops it with Ctrl-C.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";

const ENDS_WITHIN_MS = 10_000;
const BEGINS_WITHIN_MS = 30_000;

/** Start time of every demo, on the fleet's clock. */
export const BEGIN = Date.UTC(2026, 0, 12, 3, 0, 0);

function program() {
  const path = process.env["MAINSTAY"];
  if (path === undefined || path === "") {
    throw new Error("MAINSTAY is not set: set it to the program under test, for example MAINSTAY=../target/debug/mainstay");
  }
  if (!existsSync(path)) throw new Error(`MAINSTAY names ${path}, which does not exist: build it with cargo build -p mainstay`);
  return path;
}

/** A running demo. `lines` holds its output so far, oldest first. */
export async function startDemo(...options) {
  const child = spawn(program(), ["demo", "--port", "0", "-o", "json", ...options], { stdio: ["ignore", "pipe", "pipe"] });
  const gone = () => child.kill("SIGKILL");
  process.once("exit", gone);
  const lines = [];
  let complaint = "";
  child.stderr.on("data", (piece) => (complaint += piece));
  const ended = new Promise((resolve) => child.on("close", (code, signal) => resolve({ code, signal })));
  const began = new Promise((resolve) => {
    createInterface({ input: child.stdout }).on("line", (line) => {
      const printed = JSON.parse(line);
      lines.push(printed);
      if (printed.event === "began") resolve(printed);
    });
  });
  const first = await Promise.race([began, ended, later(BEGINS_WITHIN_MS)]);
  if (first?.address === undefined) {
    if (first === undefined) child.kill("SIGKILL");
    throw new Error(`the demo did not start: ${complaint === "" ? JSON.stringify(first) : complaint}`);
  }

  const demo = {
    address: first.address,
    lines,
    read: (path) => call("GET", path),
    send: (method, path, body) => call(method, path, body),
    /** Moves the virtual clock to `seconds` after the start, and pauses there. */
    goTo: (seconds) => goTo(demo, seconds),
    /** Stops it with Ctrl-C and checks the exit code. */
    async stop() {
      process.off("exit", gone);
      child.kill("SIGINT");
      const how = await Promise.race([ended, later(ENDS_WITHIN_MS)]);
      if (how === undefined) child.kill("SIGKILL");
      assert.deepEqual(how, { code: 0, signal: null }, `Ctrl-C did not stop the demo cleanly. ${complaint}`);
      assert.equal(complaint, "");
      const last = lines.at(-1);
      assert.equal(last.event, "ended");
      assert.equal(last.violations, 0, "the auditor found a violation");
    },
  };

  async function call(method, path, body) {
    const response = await fetch(`${first.address}/api/v1${path}`, {
      method,
      ...(body === undefined ? {} : { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }),
    });
    const text = await response.text();
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  }
  return demo;
}

async function goTo(demo, seconds) {
  const target = BEGIN + seconds * 1000;
  const { now } = await demo.read("/fleet");
  assert.ok(now <= target, `${seconds} s after the start is in the past`);
  await demo.send("POST", "/demo", { paused: false, speed: 3600, pauseAt: target });
  let shown = null;
  for (let tries = 0; tries < 600 && (shown === null || !shown.demo.paused); tries += 1) {
    await later(100);
    shown = await demo.read("/fleet");
  }
  assert.equal(shown.now, target);
  await demo.send("POST", "/demo", { speed: 60 });
}

export function later(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
