// axe-core reports no violation on any page, in light and dark, wide and narrow.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { scene, settled, NARROW, WIDE } from "./browser.mjs";
import { MISSING, MOMENT, places } from "./places.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

test("axe reports no violation on any page", async (t) => {
  const { demo, open, end } = await scene(t, [], MOMENT);
  const all = await places(demo);
  const found = [];
  for (const viewport of [WIDE, NARROW]) {
    for (const colorScheme of ["light", "dark"]) {
      const page = await open(all[0], { viewport, colorScheme });
      await page.evaluate(axe);
      const look = async (name) => {
        const { violations } = await page.evaluate(() => window.axe.run({ resultTypes: ["violations"] }));
        for (const { impact, id, nodes } of violations) {
          found.push(`${name} ${viewport.width} ${colorScheme}: ${impact} ${id} ${nodes[0].target.join(" ")} ${nodes[0].failureSummary}`);
        }
      };
      for (const place of all) {
        await page.evaluate((hash) => (window.location.hash = hash), place);
        // A node that does not exist shows a problem.
        if (place.endsWith(MISSING)) await page.getByRole("alert").waitFor();
        else await settled(page);
        await look(place);
      }
      await page.getByRole("button", { name: "Inject a fault" }).click();
      await page.getByRole("dialog").getByRole("radio").first().waitFor();
      await look("inject");
      await page.keyboard.press("Escape");
      await page.evaluate(() => (window.location.hash = "#/"));
      await page.getByRole("button", { name: "Stop all actions" }).click();
      await look("stop");
      // The request for the missing node fails, and browsers log failed requests.
      await end(/404/);
    }
  }
  assert.deepEqual(found, []);
});
