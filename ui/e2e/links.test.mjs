// Every view is a link: the same address shows the same view.

import assert from "node:assert/strict";
import { test } from "node:test";
import { scene, settled } from "./browser.mjs";
import { MISSING, MOMENT, places } from "./places.mjs";

/** The visible content: the text, and every pixel of the map. */
async function seen(page) {
  await settled(page);
  await page.waitForTimeout(300);
  return page.evaluate(() => {
    const canvas = document.querySelector(".map-canvas canvas");
    const panel = document.querySelector(".side-panel")?.textContent ?? "";
    return { address: window.location.hash, title: document.title, words: document.querySelector("main")?.innerText ?? "", panel, picture: canvas?.toDataURL() ?? "" };
  });
}

test("a reload shows the same view", async (t) => {
  const { demo, open, end } = await scene(t, [], MOMENT);
  const page = await open("#/");
  for (const place of (await places(demo)).filter((one) => !one.endsWith(MISSING))) {
    await page.evaluate((hash) => (window.location.hash = hash), place);
    const before = await seen(page);
    assert.equal(before.address, place);
    await page.reload();
    assert.deepEqual(await seen(page), before, place);
  }

  // And a view that was reached by clicking.
  await page.goto(`${demo.address}/#/map`);
  await settled(page);
  await page.getByRole("button", { name: "Power" }).click();
  await page.getByRole("button", { name: "Zoom in" }).click();
  await page.getByRole("button", { name: "Zoom in" }).click();
  await page.locator(".map-canvas canvas").click({ position: { x: 500, y: 300 } });
  await page.waitForFunction(() => /colour=power/.test(window.location.hash) && /at=/.test(window.location.hash));
  await page.mouse.move(5, 5);
  await page.waitForTimeout(500);
  const before = await seen(page);
  await page.reload();
  await page.waitForTimeout(300);
  assert.deepEqual(await seen(page), before);
  await end();
});
