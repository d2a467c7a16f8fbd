// The web UI of a real cluster in a browser: missing permissions are shown, demo controls are not, a token is required and
// never stored, and axe reports no violation. A Rust test starts the cluster and passes its address here:
//
//   cargo test -p mainstay --test ui -- --ignored      (PICTURES=folder takes pictures as well)

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { openBrowser, openPage, settled, NARROW, WIDE } from "./browser.mjs";

const { ADDRESS, SHARED, TOKEN, NODE, INCIDENT, PICTURES } = process.env;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const cluster = { address: ADDRESS };
const found = [];

const browser = await openBrowser();
try {
  await looks();
  await everywhere();
  await asks();
} finally {
  await browser.close();
}
assert.deepEqual(found, []);

/** The pages for a viewer without permission to list pods. */
async function looks() {
  const opened = await openPage(browser, cluster, "#/");
  const { page } = opened;
  await page.getByRole("heading", { level: 1, name: /^1 open incident: 8 of 256 GPUs suspect\.$/ }).waitFor();
  await page.getByRole("list", { name: "Notices" }).getByText("No permission to list: pods.").waitFor();
  for (const name of ["Demo controls"]) assert.equal(await page.getByRole("region", { name }).count(), 0);
  for (const name of ["Inject a fault", "Pause", "Stop all actions", "Set Act"]) assert.equal(await page.getByRole("button", { name }).count(), 0, name);
  assert.equal(await page.getByText(/saved by checkpoint requests/i).count(), 0, "saved work is not available for a real cluster");

  await page.getByRole("link", { name: /fell off the bus/ }).first().click();
  await page.getByRole("heading", { level: 1, name: /GPU 3 of .* fell off the bus \(XID 79\)/ }).waitFor();
  await page.getByText(`mainstay incident ack ${INCIDENT}`).waitFor();
  await page.getByText("The log lines stay on the node.").waitFor();
  await page.locator(".timeline").getByText("XID 79").waitFor();
  assert.equal(await page.getByLabel("Your name").count(), 0);

  await page.goto(`${ADDRESS}/#/nodes/${NODE}`);
  await page.locator(".title-end .stage", { hasText: "Suspect" }).waitFor();
  await page.locator(".why-sentence", { hasText: NODE }).waitFor();
  await page.getByText("not known: no permission to list pods").first().waitFor();
  await page.getByText(`kubectl edit gpunode ${NODE}`).waitFor();

  await page.goto(`${ADDRESS}/#/map`);
  await page.waitForFunction(() => window.__mainstay?.ready);
  assert.equal(await page.getByRole("button", { name: "Temperature" }).count(), 0);
  await page.getByRole("button", { name: /Suspect/ }).getByText("8", { exact: true }).waitFor();

  await page.goto(`${ADDRESS}/#/jobs`);
  await page.getByText("Jobs are not visible.").waitFor();

  await page.goto(`${ADDRESS}/#/fleet`);
  await page.getByText("Allocation is not known.").waitFor();
  await page.getByText("The queue is not visible.").waitFor();
  await page.getByRole("img", { name: /^256 GPUs: 256 in service, allocation not known$/ }).first().waitFor();
  await page.getByRole("group", { name: "Installed GPUs" }).getByText("256", { exact: true }).waitFor();
  assert.equal(await page.getByText("Largest gang that fits").count(), 0, "without pods it is not known");

  // 16 of the 28.8 bad jobs that a month allows: 12 before the incident, 4 in its hour.
  await page.goto(`${ADDRESS}/#/slos`);
  const slo = page.getByRole("region", { name: "research-jobs" });
  await slo.getByText("44.4 %", { exact: true }).first().waitFor();
  await slo.getByText("of 28.8 allowed").waitFor();
  await slo.getByRole("link", { name: INCIDENT }).waitFor();
  await slo.getByRole("img", { name: /100 % at the start, 44.4 % now/ }).waitFor();
  assert.deepEqual(await opened.end(), []);
}

async function look(page, name) {
  const { violations } = await page.evaluate(() => window.axe.run({ resultTypes: ["violations"] }));
  for (const { impact, id, nodes } of violations) found.push(`${name}: ${impact} ${id} ${nodes[0].target.join(" ")} ${nodes[0].failureSummary}`);
}

/** Every page, wide and narrow, light and dark. */
async function everywhere() {
  const places = { now: "#/", map: "#/map", fleet: "#/fleet", "map-node": `#/map?node=${NODE}`, nodes: "#/nodes", node: `#/nodes/${NODE}`, incidents: "#/incidents?state=All", incident: `#/incidents/${INCIDENT}`, jobs: "#/jobs", slos: "#/slos" };
  for (const [size, viewport] of Object.entries({ wide: WIDE, narrow: NARROW })) {
    for (const colorScheme of ["light", "dark"]) {
      const opened = await openPage(browser, cluster, "#/", { viewport, colorScheme });
      const { page } = opened;
      await page.evaluate(axe);
      for (const [name, hash] of Object.entries(places)) {
        await page.evaluate((to) => (window.location.hash = to), hash);
        await settled(page);
        await look(page, `${name} ${size} ${colorScheme}`);
        const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        await shoot(page, `cluster-${name}-${size}-${colorScheme}`);
        const wide = await page.evaluate(() => [...document.querySelectorAll("main *")].filter((e) => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1 && !e.closest(".scroll")).map((e) => e.outerHTML.slice(0, 90)).slice(0, 4));
        assert.ok(over <= 0, `${name} ${size} is ${over} px too wide: ${wide.join("\n")}`);
      }
      assert.deepEqual(await opened.end(), []);
    }
  }
}

/** The shared server requires a token; the page holds it in memory only and requires it again after a reload. */
async function asks() {
  const context = await browser.newContext({ viewport: WIDE, colorScheme: "light" });
  context.setDefaultTimeout(15_000);
  const page = await context.newPage();
  await page.goto(`${SHARED}/#/`);
  await page.getByRole("heading", { name: "Sign in with a token" }).waitFor();
  await page.evaluate(axe);
  await look(page, "token");
  await shoot(page, "cluster-token-wide-light");
  const give = async (token) => {
    await page.getByLabel("Token").fill(token);
    await page.getByRole("button", { name: "Sign in" }).click();
  };
  await give("made-up");
  await page.getByRole("alert").waitFor();
  await give(TOKEN);
  await page.getByRole("heading", { level: 1, name: /^1 open incident/ }).waitFor();
  await settled(page);
  const kept = await page.evaluate(() => [document.cookie, JSON.stringify(window.localStorage), JSON.stringify(window.sessionStorage)].join(" "));
  assert.ok(!kept.includes(TOKEN.slice(0, 20)), "the token is stored");
  assert.equal(await page.evaluate(() => document.cookie), "");
  await page.reload();
  await page.getByRole("heading", { name: "Sign in with a token" }).waitFor();
  await context.close();
}

async function shoot(page, file) {
  if (PICTURES === undefined) return;
  // Charts and fonts load a moment later.
  await page.waitForTimeout(600);
  const session = await page.context().newCDPSession(page);
  const format = process.env["FORMAT"] ?? "webp";
  const { data } = await session.send("Page.captureScreenshot", { format, ...(format === "png" ? {} : { quality: 80 }) });
  await writeFile(path.join(PICTURES, `${file}.${format}`), Buffer.from(data, "base64"));
}
