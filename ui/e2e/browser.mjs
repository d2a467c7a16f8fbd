// The browser of the tests. An error in the console of a page, or a request to any other server, fails the test that opened
// the page.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { chromium } from "playwright-core";
import { startDemo } from "./demo.mjs";

export const WIDE = { width: 1440, height: 900 };
export const NARROW = { width: 390, height: 844 };

export async function openBrowser() {
  const path = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
  if (!existsSync(path)) {
    throw new Error(`no browser at ${path}: install Debian's chromium, or set CHROMIUM to the path of one`);
  }
  return chromium.launch({ executablePath: path, args: ["--no-sandbox"] });
}

/** A demo and a browser for one test, both stopped when the test ends; `open` opens a page. */
export async function scene(t, options, seconds = 0) {
  const demo = await startDemo("--seed", "7", ...options);
  let browser = null;
  const opened = [];
  t.after(async () => {
    await browser?.close();
    await demo.stop();
  });
  if (seconds > 0) await demo.goTo(seconds);
  browser = await openBrowser();
  const open = async (hash, how) => {
    const made = await openPage(browser, demo, hash, how);
    opened.push(made);
    return made.page;
  };
  /** Closes the pages; any error in one of them fails the test, unless it is expected. */
  const end = async (expected = /^$/) => {
    for (const made of opened.splice(0)) assert.deepEqual((await made.end()).filter((line) => !expected.test(line)), []);
  };
  return { demo, open, end };
}

/** A page at an address of the demo. `end` closes it and returns its errors. */
export async function openPage(browser, demo, hash, options = {}) {
  const context = await browser.newContext({ viewport: WIDE, colorScheme: "light", reducedMotion: "reduce", ...options });
  context.setDefaultTimeout(15_000);
  const page = await context.newPage();
  const wrong = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") wrong.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => wrong.push(`error: ${error}`));
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.origin !== demo.address && url.protocol !== "data:" && url.protocol !== "blob:") wrong.push(`request to ${url.href}`);
  });
  await page.goto(`${demo.address}/${hash}`);
  await settled(page);
  return {
    page,
    async end() {
      await context.close();
      return wrong;
    },
  };
}

/** Waits until the page is connected and has loaded everything. */
export async function settled(page) {
  await page.locator(".link-state", { hasText: "Live" }).waitFor();
  await page.waitForFunction(() => document.querySelector("[aria-busy]") === null && document.querySelector("main h1") !== null);
}
