// The steps of the demo script appear on the Now page one by one, without any input.

import assert from "node:assert/strict";
import { test } from "node:test";
import { scene } from "./browser.mjs";

/** Facts that the text of each step must contain, in the order of the script: the wording belongs to the server. */
const FACTS = [
  { name: "row remap under a large job", text: /step [\d,]+.*r\d+n\d+.*\d GPU-hours/s },
  { name: "GPU off the bus", text: /step [\d,]+.*\d GPU-hours/s },
  { name: "rail without traffic", text: /r\d+n\d+/ },
  { name: "leaf down", text: /incident/ },
  { name: "faulty sensor", text: /breaker/ },
  { name: "node back in service", text: /back in service/ },
];
const LEAF_DOWN = 3;
const FAULTY_SENSOR = 4;

test("the steps of the demo script appear on the Now page", async (t) => {
  const { demo, open, end } = await scene(t, ["--speed", "1"]);
  const page = await open("#/");
  await page.getByRole("heading", { level: 1, name: "All 1,024 GPUs are in service." }).waitFor();
  const script = async () => (await demo.read("/fleet")).demo.script;
  const titles = (await script()).map(({ title }) => title);
  assert.equal(titles.length, FACTS.length);
  assert.deepEqual(await page.locator(".script .script-title").allTextContents(), titles);
  assert.equal(await page.locator('.script li[data-done="true"]').count(), 0);

  await page.getByLabel("Speed").selectOption("600");
  for (const [index, { name, text }] of FACTS.entries()) {
    const step = page.locator(".script li").nth(index);
    await step.and(page.locator('[data-done="true"]')).waitFor();
    // The page shows the text of the latest step only, and the next step may have happened already.
    assert.match((await script())[index].text, text, name);
    if (index === LEAF_DOWN) {
      const leaves = (await demo.read("/incidents")).items.filter(({ subject }) => subject.kind === "Leaf");
      assert.equal(leaves.length, 1, "a leaf is one incident");
      await page.getByRole("link", { name: leaves[0].title, exact: true }).waitFor();
    }
    if (index === FAULTY_SENSOR) await page.locator(".breaker", { hasText: "gsp-timeout" }).waitFor();
  }
  assert.equal(await page.locator('.script li[data-done="true"]').count(), FACTS.length);
  await page.locator('.script li[aria-current="step"]', { hasText: /back in service/ }).waitFor();
  await page.locator(".figure", { hasText: "Saved by checkpoint requests" }).getByText(/^2\d\d$/).waitFor();
  await end();
});
