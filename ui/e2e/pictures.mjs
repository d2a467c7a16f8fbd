// Takes the pictures of docs/pictures/ui: every page, wide and narrow, light and dark. The seed of the demo and the times are
// fixed, so a picture changes only when the page or the demo script changes.
//
//   MAINSTAY=../target/debug/mainstay npm run pictures [part of a name]

import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { openBrowser, openPage, settled, NARROW, WIDE } from "./browser.mjs";
import { startDemo } from "./demo.mjs";

const FOLDER = process.env["PICTURES"] ?? fileURLToPath(new URL("../../docs/pictures/ui", import.meta.url));
const ONLY = process.argv[2] ?? "";
const SIZES = { wide: WIDE, narrow: NARROW };
const ALL = [
  ["wide", "light"],
  ["wide", "dark"],
  ["narrow", "light"],
  ["narrow", "dark"],
];
const ONE = [["wide", "light"]];

/** Views to take at each time, in seconds after the start. */
const SCENES = [
  { at: 170, views: [{ name: "now-calm", hash: "#/", shots: ALL }] },
  {
    at: 1080,
    views: [
      { name: "node", hash: "#/nodes/r0010n01", shots: ALL },
      { name: "inject", hash: "#/map", shots: ONE, act: (page) => page.getByRole("button", { name: "Inject a fault" }).click() },
    ],
  },
  {
    at: 2340,
    views: [
      { name: "now-burning", hash: "#/", shots: ALL },
      { name: "map", hash: "#/map", shots: ALL },
      { name: "map-node", hash: "#/map?node=r0010n01&at=r0010n01,4,0,14", shots: ALL },
      { name: "fleet", hash: "#/fleet", shots: ALL },
      { name: "nodes", hash: "#/nodes", shots: ALL },
      { name: "incidents", hash: "#/incidents?state=All", shots: ALL },
      { name: "incident-leaf", hash: async (demo) => `#/incidents/${await incident(demo, "Leaf")}`, shots: ALL },
      { name: "incident-closed", hash: async (demo) => `#/incidents/${await incident(demo, "Part", "Closed")}`, shots: ALL },
      { name: "jobs", hash: "#/jobs", shots: ALL },
      { name: "job", hash: "#/jobs/train-7", shots: ALL },
      { name: "map-job", hash: "#/map?colour=job&job=train-7", shots: ONE },
    ],
  },
  { at: 2640, views: [{ name: "fleet-queue", hash: "#/fleet", shots: ONE }] },
  { at: 3000, views: [{ name: "now-breaker", hash: "#/", shots: ALL }] },
];

/** Colour vision deficiencies to emulate. */
const EYES = ["deuteranopia", "achromatopsia"];

async function incident(demo, kind, state = "Open") {
  const { items } = await demo.read(`/incidents?state=${state}`);
  return items.find((item) => item.subject.kind === kind).id;
}

async function shoot(browser, demo, { name, hash, shots, act, eyes }) {
  const place = typeof hash === "string" ? hash : await hash(demo);
  for (const [size, theme] of shots) {
    const file = [name, size, theme].join("-");
    if (!file.includes(ONLY)) continue;
    const opened = await openPage(browser, demo, place, { viewport: SIZES[size], colorScheme: theme, hasTouch: size === "narrow" });
    const { page } = opened;
    await act?.(page);
    await settled(page);
    const session = await page.context().newCDPSession(page);
    if (eyes !== undefined) await session.send("Emulation.setEmulatedVisionDeficiency", { type: eyes });
    // Charts and fonts load a moment later.
    await page.waitForTimeout(600);
    const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    if (over > 0) console.log(`${file} is ${over} px too wide`);
    await keep(session, file);
    for (const line of await opened.end()) console.log(`${file}: ${line}`);
  }
}

/** Lossy and small, because every clone of the repository includes several dozen pictures. */
async function keep(session, file) {
  const format = process.env["FORMAT"] ?? "webp";
  const { data } = await session.send("Page.captureScreenshot", { format, ...(format === "png" ? {} : { quality: 80 }) });
  const bytes = Buffer.from(data, "base64");
  await writeFile(path.join(FOLDER, `${file}.${format}`), bytes);
  console.log(`${file}.${format} ${Math.ceil(bytes.length / 1024)} kB`);
}

await mkdir(FOLDER, { recursive: true });
const browser = await openBrowser();
const demo = await startDemo("--seed", "7", "--speed", "60");
for (const { at, views } of SCENES) {
  await demo.goTo(at);
  for (const view of views) await shoot(browser, demo, view);
  if (at === 2340) for (const eyes of EYES) await shoot(browser, demo, { name: `eyes-${eyes}`, hash: "#/map", shots: ALL.slice(0, 2), eyes });
}
await demo.stop();

const crowdedViews = [
  { name: "map-100k", hash: "#/map", shots: ALL },
  { name: "map-100k-risk", hash: "#/map?colour=risk", shots: ONE },
  { name: "now-100k", hash: "#/", shots: ONE },
];
// A fleet of this size takes long to start.
if (crowdedViews.some(({ name, shots }) => shots.some(([size, theme]) => [name, size, theme].join("-").includes(ONLY)))) {
  const crowded = await startDemo("--seed", "7", "--gpus", "100000", "--script", "crowded", "--speed", "1");
  await crowded.goTo(60);
  for (const view of crowdedViews) await shoot(browser, crowded, view);
  await crowded.stop();
}
await browser.close();
