// Time controls of the demo: pause, speed, and the time slider.

import assert from "node:assert/strict";
import { test } from "node:test";
import { scene } from "./browser.mjs";

test("time can be paused, sped up and viewed in the past", async (t) => {
  const { demo, open, end } = await scene(t, ["--speed", "60"]);
  const page = await open("#/map");
  const clock = page.locator(".demo-clock");
  const moves = async (from) => page.waitForFunction((before) => document.querySelector(".demo-clock")?.textContent !== before, from);

  await moves(await clock.textContent());
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByRole("button", { name: "Resume" }).waitFor();
  const paused = (await demo.read("/fleet")).now;
  await page.waitForTimeout(700);
  assert.equal((await demo.read("/fleet")).now, paused, "the clock runs while it is paused");
  await page.getByLabel("Speed").selectOption("600");
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByRole("button", { name: "Pause" }).waitFor();
  await moves(await clock.textContent());
  assert.equal((await demo.read("/fleet")).demo.speed, 600);

  // Changes from another window or the terminal appear here too, also while the clock is paused.
  await demo.goTo(2340);
  await page.getByRole("button", { name: "Resume" }).waitFor();
  const suspects = page.locator(".legend-lines button", { hasText: "Suspect" }).locator(".legend-count");
  await page.waitForFunction(() => [...document.querySelectorAll(".legend-lines button")].some((line) => /Suspect256/.test(line.textContent ?? "")));

  const slider = page.getByRole("slider", { name: "Time shown" });
  await slider.focus();
  await slider.press("Home");
  await page.getByText("Viewing the past, not live.").waitFor();
  await page.waitForFunction(() => [...document.querySelectorAll(".legend-lines button")].some((line) => /Suspect0/.test(line.textContent ?? "")));
  assert.equal(await page.getByRole("button", { name: "Inject a fault" }).isDisabled(), true, "no fault can be injected into the past");
  await page.getByRole("link", { name: "Now", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "All 1,024 GPUs are in service." }).waitFor();

  await page.getByRole("button", { name: "Return to live" }).click();
  await page.getByRole("heading", { level: 1, name: /3 open incidents/ }).waitFor();
  await page.getByRole("link", { name: "Map", exact: true }).click();
  await page.locator(".scrub-now", { hasText: "Live" }).waitFor();
  assert.equal(await suspects.textContent(), "256");
  await end();
});
