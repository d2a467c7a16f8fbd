// What people ask for from the page: hold and withdraw, acknowledge, mode, stop.

import assert from "node:assert/strict";
import { test } from "node:test";
import { scene } from "./browser.mjs";
import { MOMENT } from "./places.mjs";

const NODE = "r0030n01";

test("requests are made and withdrawn, and what stands is shown", async (t) => {
  const { demo, open, end } = await scene(t, [], MOMENT);
  const page = await open(`#/nodes/${NODE}`);
  await demo.send("POST", "/demo", { paused: false, speed: 60 });

  await page.getByRole("radio", { name: /^Hold/ }).check();
  await page.getByLabel("Reason").fill("fan noise, ticket 4711");
  await page.getByLabel("Your name").fill("mira");
  await page.getByRole("button", { name: "Ask to hold" }).click();
  await page.getByText("asked by mira: fan noise, ticket 4711").waitFor();
  await page.locator(".title-end .stage", { hasText: "Held" }).waitFor();
  assert.deepEqual((await demo.read(`/nodes/${NODE}`)).request, { kind: "hold", by: "mira", reason: "fan noise, ticket 4711" });
  await page.getByRole("button", { name: "Withdraw the request" }).click();
  await page.getByRole("button", { name: /^Ask to/ }).waitFor();
  assert.equal((await demo.read(`/nodes/${NODE}`)).request, null);

  const leaf = (await demo.read("/incidents")).items.find((incident) => incident.subject.kind === "Leaf").id;
  await page.goto(`${demo.address}/#/incidents/${leaf}`);
  assert.equal(await page.getByLabel("Your name").inputValue(), "mira", "a name is given once");
  await page.getByRole("button", { name: "Acknowledge" }).click();
  await page.getByText("by mira").waitFor();
  assert.equal((await demo.read(`/incidents/${leaf}`)).acknowledgedBy, "mira");

  await page.goto(`${demo.address}/#/`);
  await page.getByRole("row", { name: /Acknowledged by mira/ }).waitFor();
  await page.getByRole("button", { name: "Propose", exact: true }).click();
  await page.getByRole("dialog", { name: "From Act to Propose" }).getByRole("button", { name: "Set Propose" }).click();
  await page.locator('.mode-word[data-mode="Propose"]').waitFor();
  assert.equal((await demo.read("/fleet")).mode, "Propose");

  await page.getByRole("button", { name: "Stop everything" }).click();
  const stop = page.getByRole("dialog", { name: "Stop everything" });
  await stop.getByLabel("Reason").fill("looks wrong to me");
  await stop.getByRole("button", { name: "Stop" }).click();
  await page.locator('.mode-word[data-mode="Observe"]').waitFor();
  assert.equal((await demo.read("/fleet")).mode, "Observe");
  assert.equal(await page.getByRole("button", { name: "Stop everything" }).count(), 0, "what is stopped cannot be stopped");
  await end();
});
