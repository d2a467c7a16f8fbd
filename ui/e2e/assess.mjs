// Takes the pictures of docs/pictures/assess: the report of `mainstay assess`, wide and narrow, light and dark, full and as it
// opens. The seed of the simulated fleet is fixed, so a picture changes only when the report or the engine changes.
//
//   MAINSTAY=../target/debug/mainstay npm run pictures:assess

import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { openBrowser, NARROW, WIDE } from "./browser.mjs";

const MAINSTAY = process.env["MAINSTAY"] ?? fileURLToPath(new URL("../../target/debug/mainstay", import.meta.url));
const FOLDER = process.env["PICTURES"] ?? fileURLToPath(new URL("../../docs/pictures/assess", import.meta.url));
const FLEET = ["--gpus", "8000", "--days", "180", "--seed", "101"];

const work = await mkdtemp(path.join(tmpdir(), "assess-"));
const at = (name) => path.join(work, name);
const run = (...words) => execFileSync(MAINSTAY, words, { stdio: ["ignore", "ignore", "inherit"], maxBuffer: 1 << 20 });
run("sim", "logs", ...FLEET, "--out", at("fleet"));
const of = (name) => path.join(at("fleet"), name);
run("assess", of("logs"), "--nodes", of("nodes.csv"), "--tickets", of("tickets.csv"), "--html", at("page.html"));

await mkdir(FOLDER, { recursive: true });
const browser = await openBrowser();
for (const [size, viewport] of Object.entries({ wide: WIDE, narrow: NARROW })) {
  for (const colorScheme of ["light", "dark"]) {
    const page = await browser.newPage({ viewport, colorScheme });
    const asked = [];
    page.on("request", (request) => asked.push(request.url()));
    page.on("console", (message) => asked.push(message.text()));
    await page.goto(pathToFileURL(at("page.html")).href);
    if (asked.length !== 1) console.log(`the page requested other files: ${asked.slice(1).join(", ")}`);
    const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    if (over > 0) console.log(`${size} is ${over} px too wide`);
    const session = await page.context().newCDPSession(page);
    for (const [name, whole] of size === "wide" ? [["page", false], ["whole", true]] : [["page", false]]) {
      const { height } = await page.evaluate(() => ({ height: document.documentElement.scrollHeight }));
      const clip = { x: 0, y: 0, width: viewport.width, height: Math.min(height, whole ? 3_600 : viewport.height), scale: whole ? 0.75 : 1 };
      const asked = { format: "webp", quality: 80, captureBeyondViewport: true, clip };
      const { data } = await session.send("Page.captureScreenshot", asked);
      const file = `${name}-${size}-${colorScheme}.webp`;
      await writeFile(path.join(FOLDER, file), Buffer.from(data, "base64"));
      console.log(`${file} ${Math.ceil((data.length * 3) / 4 / 1024)} kB`);
    }
    await page.close();
  }
}
await browser.close();
await rm(work, { recursive: true });
