// axe-core on every page, in light and dark, wide and narrow: nothing is found.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { scene, settled, NARROW, WIDE } from "./browser.mjs";
import { MOMENT, places } from "./places.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

test("axe finds nothing on any page", async (t) => {
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
        // What is not there answers with a problem instead of a heading.
        if (place.endsWith("nobody")) await page.getByRole("alert").waitFor();
        else await settled(page);
        await look(place);
      }
      await page.getByRole("button", { name: "Inject a fault" }).click();
      await page.getByRole("dialog").getByRole("radio").first().waitFor();
      await look("inject");
      await page.keyboard.press("Escape");
      await page.evaluate(() => (window.location.hash = "#/"));
      await page.getByRole("button", { name: "Stop everything" }).click();
      await look("stop");
      // The one call for a node that is not there is refused, and browsers write refusals down.
      await end(/404/);
    }
  }
  assert.deepEqual(found, []);
});
