// Every page by keyboard alone: Tab reaches every control in document order, and the focus is always visible.

import assert from "node:assert/strict";
import { test } from "node:test";
import { scene, settled, WIDE } from "./browser.mjs";
import { MISSING, MOMENT, places } from "./places.mjs";

const STOPS_MAX = 400;

/** The focused element, and whether its focus mark is visible. */
function focused() {
  const element = document.activeElement;
  if (element === null || element === document.body || element === document.documentElement) return null;
  const style = getComputedStyle(element);
  const marked = (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0) || style.boxShadow !== "none";
  const all = (window.stops ??= []);
  const again = all.includes(element);
  const before = all.at(-1);
  const forward = before === undefined || (before.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;
  if (!again) all.push(element);
  const name = element.getAttribute("aria-label") ?? element.textContent ?? "";
  return { again, forward, marked, name: `${element.tagName} ${name.slice(0, 40)}` };
}

/** Controls that Tab did not reach. Tab reaches one radio button of a group; arrow keys reach the others. */
function missed() {
  const wanted = "a[href], button:not(:disabled), input:not(:disabled), select, textarea, [tabindex='0']";
  const groups = new Set(window.stops.map((element) => (element.type === "radio" ? element.name : null)));
  return [...document.querySelectorAll(wanted)]
    .filter((element) => element.checkVisibility() && !window.stops.includes(element) && !(element.type === "radio" && groups.has(element.name)))
    .map((element) => element.outerHTML.slice(0, 120));
}

test("Tab reaches every control on every page, in order, with a visible focus", async (t) => {
  const { demo, open, end } = await scene(t, [], MOMENT);
  for (const place of (await places(demo)).filter((one) => !one.endsWith(MISSING))) {
    const page = await open(place, { viewport: { width: WIDE.width, height: 1200 } });
    for (let stop = 0; stop < STOPS_MAX; stop += 1) {
      await page.keyboard.press("Tab");
      const at = await page.evaluate(focused);
      if (at === null || at.again) break;
      assert.ok(at.marked, `${place}: no mark on ${at.name}`);
      assert.ok(at.forward, `${place}: the focus moves backwards to ${at.name}`);
      assert.ok(stop + 1 < STOPS_MAX, `${place}: Tab does not reach the end`);
    }
    assert.deepEqual(await page.evaluate(missed), [], place);
    await end();
  }
});

test("pages, map and dialogs work without a mouse", async (t) => {
  const { demo, open, end } = await scene(t, [], MOMENT);
  const page = await open("#/");
  const press = (key) => page.keyboard.press(key);
  const holder = () => page.evaluate(() => document.activeElement?.id ?? "");

  await press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), "Skip to main content");
  await press("Enter");
  assert.equal(await holder(), "main", "the first link skips the navigation");

  await page.getByRole("link", { name: "Map", exact: true }).focus();
  await press("Enter");
  await settled(page);
  assert.equal(await holder(), "main", "a new page gets the focus");
  const canvas = page.getByRole("application", { name: /^Fleet map/ });
  await canvas.focus();
  await press("ArrowRight");
  const first = await page.locator(".map-canvas [aria-live]").textContent();
  assert.match(first, /^r\d{4}n\d{2}, /);
  await press("ArrowDown");
  assert.notEqual(await page.locator(".map-canvas [aria-live]").textContent(), first);
  await press("Enter");
  const panel = page.getByRole("region", { name: /^Node r/ });
  await panel.waitFor();
  await press("Escape");
  await panel.waitFor({ state: "detached" });
  await press("+");
  await page.waitForFunction(() => /at=/.test(window.location.hash));
  await press("Shift+ArrowRight");
  await press("0");
  await page.waitForFunction(() => !/at=/.test(window.location.hash));
  await page.getByRole("button", { name: /^Suspect/ }).focus();
  await press("Space");
  await page.waitForFunction(() => /show=Suspect/.test(window.location.hash));

  await page.getByRole("button", { name: "Inject a fault" }).focus();
  await press("Enter");
  const dialog = page.getByRole("dialog", { name: "Inject a fault" });
  await dialog.getByRole("radio").first().waitFor();
  for (let stop = 0; stop < 8; stop += 1) {
    await press("Tab");
    // Between the last and the first control the browser itself may have the focus.
    assert.ok(await page.evaluate(() => document.activeElement === document.body || document.activeElement?.closest("dialog") !== null), "the focus left the dialog");
  }
  await dialog.getByRole("radio").first().focus();
  await press("ArrowDown");
  assert.equal(await dialog.getByRole("radio").nth(1).isChecked(), true);
  await press("Escape");
  await dialog.waitFor({ state: "detached" });
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), "Inject a fault", "the focus returns to the button");

  await page.getByRole("link", { name: "Nodes", exact: true }).focus();
  await press("Enter");
  await page.getByLabel("Stage").focus();
  await press("ArrowDown");
  await page.waitForFunction(() => /stage=any/.test(window.location.hash));
  await end();
});
