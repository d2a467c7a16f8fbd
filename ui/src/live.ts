// The live state of the fleet: read once, then updated by the stream. Components select from it and never fetch it
// themselves. Details of one node, incident or job are fetched by the page that shows them.

import { get, Problem } from "./api";
import type { Fleet, Incident, MapBody, MapChange, NodeLine, Page, SeriesPoint } from "./contract";
import { applyChanges, markSuspectedLeaves, decodeMap, type FleetColumns } from "./map/columns";
import { follow, type StreamEvent } from "./stream";

export type Link = "connecting" | "live" | "lost";

export interface Live {
  link: Link;
  /** Time of the last event, by the clock of this machine. */
  lastEventAt: number;
  retryAt: number | null;
  problem: Problem | null;
  fleet: Fleet | null;
  incidents: Incident[] | null;
  map: FleetColumns | null;
  /** Rises with every change inside `map`, whose columns are changed in place. */
  mapEdition: number;
  /** Points from the server, and points added since. */
  series: SeriesPoint[];
}

let state: Live = {
  link: "connecting",
  lastEventAt: Date.now(),
  retryAt: null,
  problem: null,
  fleet: null,
  incidents: null,
  map: null,
  mapEdition: 0,
  series: [],
};

const watchers = new Set<() => void>();
const subjectWatchers = new Set<(subjects: ReadonlySet<string>) => void>();

export function live(): Live {
  return state;
}

export function watch(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

/** Reports the names of nodes and incidents that have just changed; "*" means all of them. */
export function watchSubjects(watcher: (subjects: ReadonlySet<string>) => void): () => void {
  subjectWatchers.add(watcher);
  return () => subjectWatchers.delete(watcher);
}

function set(changes: Partial<Live>): void {
  state = { ...state, ...changes };
  for (const watcher of watchers) watcher();
}

function touched(subjects: string[]): void {
  const all = new Set(subjects);
  for (const watcher of subjectWatchers) watcher(all);
}

let stop: (() => void) | null = null;

export function startLive(): void {
  if (stop !== null) return;
  listen();
  setInterval(() => {
    if (document.visibilityState === "visible" && state.link === "live") void readMap();
  }, MAP_EVERY_MS);
}

/** Connects again, for example after the user entered a token. */
export function restartLive(): void {
  stop?.();
  set({ link: "connecting", lastEventAt: Date.now(), retryAt: null, problem: null });
  listen();
}

function listen(): void {
  void readAll();
  stop = follow("api/v1/stream", {
    opened: (again) => {
      set({ link: "live", lastEventAt: Date.now(), retryAt: null, problem: null });
      if (again) void readAll();
    },
    received: () => {
      state.lastEventAt = Date.now();
    },
    event: take,
    closed: (problem, retryInMs) => set({ link: "lost", retryAt: Date.now() + retryInMs, problem }),
  });
}

/** Risk, temperature and power come with the whole map only. */
const MAP_EVERY_MS = 20_000;
const SERIES_MAX = 720;
const INCIDENTS_MAX = 500;

async function readAll(): Promise<void> {
  await Promise.all([readFleet(), readMap(), readIncidents(), readSeries()]);
  touched(["*"]);
}

export async function readFleet(): Promise<void> {
  await quietly(async () => takeFleet(await get<Fleet>("/fleet")));
}

let mapBusy = false;
let mapAgain = false;

/** Reads the map; calls that come while one is under way become one more. */
export async function readMap(): Promise<void> {
  if (mapBusy) {
    mapAgain = true;
    return;
  }
  mapBusy = true;
  await quietly(async () => {
    const body = await get<MapBody>("/map");
    set({ map: decodeMap(body), mapEdition: state.mapEdition + 1 });
  });
  mapBusy = false;
  if (mapAgain) {
    mapAgain = false;
    setTimeout(() => void readMap(), 1000);
  }
}

async function readIncidents(): Promise<void> {
  await quietly(async () => {
    const page = await get<Page<Incident>>(`/incidents?state=Open&limit=${INCIDENTS_MAX}`);
    set({ incidents: page.items });
  });
}

async function readSeries(): Promise<void> {
  await quietly(async () => {
    const { items } = await get<{ items: SeriesPoint[] }>("/series");
    set({ series: items });
  });
}

async function quietly(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (cause) {
    if (cause instanceof Problem) set({ problem: cause });
    else throw cause;
  }
}

/** Ignores an event that cannot be parsed; the next full read corrects the state. */
function take({ event, data }: StreamEvent): void {
  let body: unknown;
  try {
    body = JSON.parse(data === "" ? "null" : data);
  } catch {
    return;
  }
  switch (event) {
    case "fleet":
      takeFleet(body as Fleet);
      break;
    case "nodes":
      touched((body as NodeLine[]).map((line) => line.name));
      break;
    case "incidents":
      takeIncidents(body as Incident[]);
      break;
    case "map":
      takeMap((body as { changed?: MapChange[] }).changed ?? []);
      break;
    case "script":
      // The steps of the demo script are part of the fleet; an immediate read shows the new step without delay.
      void readFleet();
      break;
    case "reload":
      void readAll();
      break;
    default:
      break;
  }
}

function takeFleet(fleet: Fleet): void {
  const before = state.fleet?.demo?.at ?? null;
  const after = fleet.demo?.at ?? null;
  set({ fleet, problem: null, series: seriesWith(state.series, fleet) });
  if (before !== after) void readMap();
}

/** Adds at most one point per five seconds of the fleet's clock, and drops the oldest above the limit. */
export function seriesWith(series: SeriesPoint[], fleet: Fleet): SeriesPoint[] {
  const last = series.at(-1);
  // No series has been read yet, or another time is shown: a full read is on its way.
  if (last === undefined || fleet.now < last.at || fleet.now - last.at < 5000) return series;
  const gpusOut = fleet.gpus - (fleet.gpusByStage.InService ?? 0);
  return [...series, { at: fleet.now, gpusOut, lostGpuSeconds: fleet.lostGpuSeconds }].slice(-SERIES_MAX);
}

function takeIncidents(changed: Incident[]): void {
  const byId = new Map((state.incidents ?? []).map((incident) => [incident.id, incident]));
  for (const incident of changed) {
    if (incident.state === "Open") byId.set(incident.id, incident);
    else byId.delete(incident.id);
  }
  const incidents = [...byId.values()];
  // A suspected leaf is marked on the map with its incident, not only with the next full read of the map.
  const marksChanged = state.map !== null && markSuspectedLeaves(state.map, incidents);
  set({ incidents, mapEdition: state.mapEdition + (marksChanged ? 1 : 0) });
  touched(changed.map((incident) => incident.id));
}

function takeMap(changed: MapChange[]): void {
  // While a past time is shown, current changes must not appear on the map.
  if ((state.fleet?.demo?.at ?? null) !== null) return;
  if (state.map === null) return;
  if (applyChanges(state.map, changed)) set({ mapEdition: state.mapEdition + 1 });
  else void readMap();
}
