// A user injects a fault by clicking, and follows the node on the page until it is back in service.

import assert from "node:assert/strict";
import { test } from "node:test";
import { scene } from "./browser.mjs";

const NODE = "r0003n01";

test("a fault is injected by clicking, and the node is followed to its return", async (t) => {
  const { demo, open, end } = await scene(t, ["--script", "none", "--speed", "60"]);
  const page = await open("#/map");
  await page.getByLabel("Find a node").fill(NODE);
  await page.getByLabel("Find a node").press("Enter");
  await page.getByRole("region", { name: `Node ${NODE}` }).getByText("In service").waitFor();

  await page.getByRole("button", { name: "Inject a fault" }).click();
  const dialog = page.getByRole("dialog", { name: "Inject a fault" });
  assert.equal(await dialog.getByRole("combobox", { name: "Node" }).inputValue(), NODE, "the dialog preselects the node on the page");
  await dialog.getByRole("radio", { name: /row remap pending/i }).check();
  await dialog.getByRole("button", { name: "Inject" }).click();
  await dialog.getByRole("link", { name: `Watch ${NODE}` }).click();
  await dialog.waitFor({ state: "hidden" });
  assert.match(page.url(), new RegExp(`#/nodes/${NODE}$`));

  const stage = (word) => page.locator(".title-end .stage", { hasText: word }).waitFor();
  await stage(/Draining|Repairing/);
  await page.getByRole("heading", { name: "Why" }).waitFor();
  await page.locator(".why-sentence", { hasText: NODE }).waitFor();
  const id = await page.locator('.facts a[href^="#/incidents/"]').textContent();
  await stage("Repairing");
  await stage("Qualifying");
  const steps = page.getByRole("group", { name: "Repair steps and tests" });
  await steps.getByRole("row", { name: /^Test suite .* in progress, due by/ }).waitFor();
  await steps.getByRole("row", { name: /^Reset GPU .* not known$/ }).waitFor();
  await page.getByLabel("Speed").selectOption("600");
  await stage("In service");

  const passed = await page.locator(".stage-steps .stage").allTextContents();
  assert.deepEqual(
    passed.reverse().filter((word, at, all) => word !== all[at - 1] && word !== "Suspect"),
    ["Quarantined", "Draining", "Repairing", "Qualifying", "In service"],
  );

  await page.goto(`${demo.address}/#/incidents/${id}`);
  await page.locator(".incident-state", { hasText: "Closed" }).waitFor();
  const shown = await page.locator(".timeline b").allTextContents();
  const order = ["Evidence", "Checkpoint requested", "Checkpoint saved", "Drained", "Repaired", "Tests passed", "Returned to service"].map((word) => shown.indexOf(word));
  assert.ok(order.every((place, at) => place !== -1 && (at === 0 || place > order[at - 1])), `out of order: ${shown.join(", ")}`);
  await page.locator(".lead").first().getByText(/GPU-hours lost/).waitFor();

  const job = page.locator(".facts").getByRole("link", { name: /^(train|tune|eval)-/ }).first();
  await job.click();
  await page.locator(".interruptions li", { hasText: NODE }).waitFor();
  await end();
});
