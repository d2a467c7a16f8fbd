// Measures the map of 100,000 GPUs: bytes sent, time to first paint, time of a redraw. Prints one JSON line for the proof
// `map-100k`.
//
//   MAINSTAY=path node e2e/map.mjs

import { readdir, readFile } from "node:fs/promises";
import { createServer, request } from "node:http";
import { gzipSync } from "node:zlib";
import { openBrowser, WIDE } from "./browser.mjs";
import { startDemo } from "./demo.mjs";

const LOADS = 7;
const STEPS = 40;

const demo = await startDemo("--gpus", "100000", "--script", "crowded");
const { address } = demo;
const map = await demo.read("/map");
const nodes = Buffer.from(map.stage, "base64").length;
const out = Buffer.from(map.stage, "base64").filter((stage) => map.stages[stage] !== "InService").length;

// The engine adds up a risk from a few weights, so many nodes have the same risk. The worst case has no two equal values: a
// proxy replaces the risk column with a permutation, and passes everything else through.
const risk = Buffer.alloc(2 * nodes);
for (let node = 0; node < nodes; node++) risk.writeUInt16LE((node * 7919) % nodes, 2 * node);
const worst = gzipSync(JSON.stringify({ ...map, risk: risk.toString("base64") }));
const payload = worst.length;
const server = createServer((asked, answer) => {
  if (asked.url === "/api/v1/map") {
    answer.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" }).end(worst);
    return;
  }
  const passed = request(`${address}${asked.url}`, { method: asked.method, headers: { ...asked.headers, host: new URL(address).host } });
  passed.on("response", (from) => {
    answer.writeHead(from.statusCode, from.headers);
    from.pipe(answer);
  });
  passed.on("error", () => answer.destroy());
  answer.on("close", () => passed.destroy());
  asked.pipe(passed);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const shown = `http://127.0.0.1:${server.address().port}`;

const assets = new URL("../dist/assets/", import.meta.url);
const scripts = (await readdir(assets)).filter((name) => name.endsWith(".js"));
const js = await Promise.all(scripts.map(async (name) => gzipSync(await readFile(new URL(name, assets))).length));

const browser = await openBrowser();
const paints = [];
const redraws = [];
const bares = [];
let canvas = "";
for (let load = 0; load < LOADS; load++) {
  const page = await browser.newPage({ viewport: WIDE });
  await page.goto(`${shown}/#/map?colour=risk`);
  await page.waitForFunction(() => window.__mainstay?.ready, undefined, { timeout: 30_000 });
  paints.push(await page.evaluate(() => window.__mainstay.firstPaintMs));
  if (load === LOADS - 1) {
    // Each step moves or zooms like a user, then redraws the whole map.
    const measured = await page.evaluate(async (steps) => {
      const surface = document.querySelector(".map-canvas canvas");
      const { left, top, width, height } = surface.getBoundingClientRect();
      const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
      const redraws = [];
      const bares = [];
      for (let step = 0; step < steps; step++) {
        const zoom = step % 8 < 4 ? -120 : 120;
        const at = { clientX: left + (width * (1 + (step % 5))) / 6, clientY: top + (height * (1 + (step % 3))) / 4 };
        surface.dispatchEvent(new WheelEvent("wheel", { deltaY: zoom, ...at, bubbles: true, cancelable: true }));
        await pause(40);
        redraws.push(window.__mainstay.redraw());
        await pause(5);
        bares.push(window.__mainstay.bareCopy());
        await pause(5);
      }
      return { redraws, bares, canvas: `${surface.width}x${surface.height}` };
    }, STEPS);
    redraws.push(...measured.redraws);
    bares.push(...measured.bares);
    canvas = measured.canvas;
  }
  await page.close();
}
await browser.close();
server.close();
server.closeAllConnections();
await demo.stop();

const at = (list, share) => [...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * share))];
const figures = {
  gpus: nodes * map.gpusPerNode,
  nodes,
  out,
  jobs: map.jobs.length,
  risks: new Set(new Uint16Array(risk.buffer, risk.byteOffset, nodes)).size,
  payloadBytes: payload,
  jsBytes: js.reduce((sum, bytes) => sum + bytes, 0),
  paintMs: Math.round(at(paints, 0.5)),
  paintMsMax: Math.round(Math.max(...paints)),
  redrawUs: Math.round(1_000 * at(redraws, 0.5)),
  redrawUsP95: Math.round(1_000 * at(redraws, 0.95)),
  bareUs: Math.round(1_000 * at(bares, 0.5)),
  canvas,
};
process.stdout.write(`${JSON.stringify(figures)}\n`);
