// A narrow screen: every page is reachable from the navigation, and no page is wider than the screen.

import assert from "node:assert/strict";
import { test } from "node:test";
import { scene, settled, NARROW, WIDE } from "./browser.mjs";
import { MISSING, MOMENT, places } from "./places.mjs";

/** The smallest screen of phones in use. */
const SMALL = { width: 360, height: 640 };

test("no page is wider than a narrow screen", async (t) => {
  const { demo, open, end } = await scene(t, [], MOMENT);
  for (const viewport of [NARROW, SMALL]) {
    const page = await open("#/", { viewport });
    for (const place of await places(demo)) {
      await page.evaluate((hash) => (window.location.hash = hash), place);
      if (place.endsWith(MISSING)) await page.getByRole("alert").waitFor();
      else await settled(page);
      const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.ok(over <= 0, `${place} is ${over} px too wide at ${viewport.width}`);
      const nav = await page.evaluate(() => [...document.querySelectorAll(".top nav > *")].filter((one) => one.checkVisibility() && one.getBoundingClientRect().right > document.documentElement.clientWidth).map((one) => one.textContent));
      assert.deepEqual(nav, [], `${place}: the navigation does not fit at ${viewport.width}`);
    }
    // The request for the missing node fails, and browsers log failed requests.
    await end(/404/);
  }
});

test("the menu More has the pages that do not fit, and closes again", async (t) => {
  const { open, end } = await scene(t, [], MOMENT);
  const page = await open("#/", { viewport: NARROW });
  const pages = page.getByRole("navigation", { name: "Pages" });
  assert.equal(await pages.getByRole("link", { name: "Fleet" }).count(), 0, "the menu is closed");
  await pages.getByText("More").click();
  await page.keyboard.press("Escape");
  await pages.getByRole("link", { name: "Fleet" }).waitFor({ state: "hidden" });
  await pages.getByText("More").click();
  await page.locator("main").click({ position: { x: 8, y: 8 } });
  await pages.getByRole("link", { name: "Fleet" }).waitFor({ state: "hidden" });
  await pages.getByText("More").click();
  await pages.getByRole("link", { name: "Fleet" }).click();
  await page.getByRole("heading", { level: 1, name: "Fleet" }).waitFor();
  await pages.locator("summary[aria-current=page]", { hasText: "Fleet" }).waitFor();
  assert.equal(await pages.getByRole("link", { name: "SLOs" }).count(), 0, "the menu closed");
  await end();

  const wide = await open("#/", { viewport: WIDE });
  assert.equal(await wide.locator(".more").isVisible(), false);
  await wide.getByRole("link", { name: "Allocation and queue" }).click();
  await wide.getByRole("heading", { level: 1, name: "Fleet" }).waitFor();
  await end();
});
