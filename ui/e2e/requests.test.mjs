// Operator actions on the page: hold and withdraw, acknowledge, change the mode, stop all actions.

import assert from "node:assert/strict";
import { test } from "node:test";
import { scene } from "./browser.mjs";
import { MOMENT } from "./places.mjs";

const NODE = "r0030n01";

test("an operator requests, withdraws, acknowledges, changes the mode and stops all actions", async (t) => {
  const { demo, open, end } = await scene(t, [], MOMENT);
  const page = await open(`#/nodes/${NODE}`);
  await demo.send("POST", "/demo", { paused: false, speed: 60 });

  assert.equal(await page.locator("input[name=kind]:checked").count(), 0, "no request is preselected");
  await page.getByRole("radio", { name: /^Hold/ }).check();
  await page.getByLabel("Reason").fill("fan noise, ticket 4711");
  await page.getByLabel("Your name").fill("mira");
  await page.getByRole("button", { name: "Request hold" }).click();
  await page.getByText("requested by mira: fan noise, ticket 4711").waitFor();
  await page.locator(".title-end .stage", { hasText: "Held" }).waitFor();
  assert.deepEqual((await demo.read(`/nodes/${NODE}`)).request, { kind: "hold", by: "mira", reason: "fan noise, ticket 4711" });
  await page.getByRole("button", { name: "Withdraw request" }).click();
  await page.getByRole("button", { name: "Send request" }).waitFor();
  assert.equal((await demo.read(`/nodes/${NODE}`)).request, null);

  const leaf = (await demo.read("/incidents")).items.find((incident) => incident.subject.kind === "Leaf").id;
  await page.goto(`${demo.address}/#/incidents/${leaf}`);
  assert.equal(await page.getByLabel("Your name").inputValue(), "mira", "the page remembers the name");
  await page.getByRole("button", { name: "Acknowledge" }).click();
  await page.getByText("mira is working on this incident.").waitFor();
  assert.equal((await demo.read(`/incidents/${leaf}`)).acknowledgedBy, "mira");

  await page.goto(`${demo.address}/#/`);
  await page.getByRole("row", { name: /Acknowledged by mira/ }).waitFor();
  await page.getByRole("button", { name: "Set Propose", exact: true }).click();
  await page.getByRole("dialog", { name: "Change mode from Act to Propose" }).getByRole("button", { name: "Set Propose" }).click();
  await page.locator('.mode-word[data-mode="Propose"]').waitFor();
  assert.equal((await demo.read("/fleet")).mode, "Propose");

  await page.getByRole("button", { name: "Stop all actions" }).click();
  const stop = page.getByRole("dialog", { name: "Stop all actions" });
  await stop.getByLabel("Reason").fill("looks wrong to me");
  await stop.getByRole("button", { name: "Stop all actions" }).click();
  await page.locator('.mode-word[data-mode="Observe"]').waitFor();
  // The submit button of the dialog has the same name, so the dialog must be closed before the buttons are counted.
  await stop.waitFor({ state: "detached" });
  assert.equal((await demo.read("/fleet")).mode, "Observe");
  assert.equal(await page.getByRole("button", { name: "Stop all actions" }).count(), 0, "mode Observe has no action to stop");
  await end();
});
