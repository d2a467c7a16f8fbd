// The story becomes visible on the page, step by step, without anybody touching it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { scene } from "./browser.mjs";

const STEPS = [
  ["A GPU needs a reset under the large run", /saved step [\d,]+ and resumes on r\d+n\d+.* GPU-hours lost, \d+ saved by asking first/],
  ["A GPU falls off the bus", /could not save; it restarts from step [\d,]+.* GPU-hours lost/],
  ["A rail goes silent", /passes no traffic/],
  ["A leaf goes down", /one incident, blamed on the leaf/],
  ["A sensor goes mad", /its breaker opens/],
  ["A node comes back", /passed its tests and is back in service/],
];

test("the story is told on the first page", async (t) => {
  const { demo, open, end } = await scene(t, ["--speed", "1"]);
  const page = await open("#/");
  await page.getByRole("heading", { level: 1, name: "All 1,024 GPUs are in service." }).waitFor();
  await page.getByText("No action needed.").waitFor();
  assert.equal(await page.locator(".story li").count(), STEPS.length);
  assert.equal(await page.locator('.story li[data-done="true"]').count(), 0);

  await page.getByLabel("Speed").selectOption("600");
  for (const [title, said] of STEPS) {
    const step = page.locator(".story li", { has: page.getByText(title, { exact: true }) });
    await step.and(page.locator('[data-done="true"]')).waitFor();
    // The text stands beside the latest step only; by then the next may have come.
    const known = (await demo.read("/fleet")).demo.story.find((one) => one.title === title);
    assert.match(known.text, said);
    if (title === "A leaf goes down") {
      const rows = page.getByRole("row", { name: /Leaf l2: node-unreachable/ });
      await rows.waitFor();
      assert.equal(await rows.count(), 1, "a leaf is one incident");
    }
    if (title === "A sensor goes mad") await page.locator(".breaker", { hasText: "gsp-timeout" }).waitFor();
  }
  assert.equal(await page.locator('.story li[data-done="true"]').count(), STEPS.length);
  await page.locator('.story li[aria-current="step"]', { hasText: /is back in service/ }).waitFor();
  await page.locator(".figure", { hasText: "Saved by asking first" }).getByText(/^2\d\d$/).waitFor();
  await end();
});
