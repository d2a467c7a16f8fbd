// The address bar: every view is a link. The address is after `#`, so one file serves every view, and a proxy never logs
// which view a user opened.

export type PageName = "now" | "map" | "fleet" | "nodes" | "node" | "incidents" | "incident" | "jobs" | "job" | "slos" | "runbooks" | "runbook";

export interface Address {
  page: PageName;
  /** Which node, incident, job or runbook; empty for the pages without one. */
  id: string;
  /** Further state of the page: colour, filter, position of the map. */
  query: Record<string, string>;
}

/** Pages about one object, by the path of their list. */
const ONE_OF: Record<string, PageName> = { nodes: "node", incidents: "incident", jobs: "job", runbooks: "runbook" };
const LISTS: Record<string, PageName> = { fleet: "fleet", nodes: "nodes", incidents: "incidents", jobs: "jobs", slos: "slos", runbooks: "runbooks" };

export function parseAddress(hash: string): Address {
  const [path = "", search = ""] = hash.replace(/^#/, "").split("?", 2);
  const [word = "", ...rest] = path.split("/").filter((part) => part !== "");
  const id = decode(rest.join("/"));
  const query: Record<string, string> = {};
  for (const [key, value] of new URLSearchParams(search)) query[key] = value;
  if (word === "map") return { page: "map", id: "", query };
  const one = ONE_OF[word];
  const list = LISTS[word];
  if (one !== undefined && id !== "") return { page: one, id, query };
  if (list !== undefined) return { page: list, id: "", query };
  return { page: "now", id: "", query };
}

export function formatAddress({ page, id, query }: Address): string {
  const word = Object.keys(ONE_OF).find((key) => ONE_OF[key] === page) ?? page;
  const path = page === "now" ? "/" : id === "" ? `/${word}` : `/${word}/${encodeURIComponent(id)}`;
  const kept = Object.entries(query).filter(([, value]) => value !== "");
  const search = kept.map(([key, value]) => `${key}=${escapeQuery(value)}`).join("&");
  return `#${path}${search === "" ? "" : `?${search}`}`;
}

/** Links to each kind of page. */
export const linkTo = {
  now: () => formatAddress({ page: "now", id: "", query: {} }),
  map: (query: Record<string, string> = {}) => formatAddress({ page: "map", id: "", query }),
  fleet: () => formatAddress({ page: "fleet", id: "", query: {} }),
  nodes: (query: Record<string, string> = {}) => formatAddress({ page: "nodes", id: "", query }),
  node: (id: string) => formatAddress({ page: "node", id, query: {} }),
  incidents: (query: Record<string, string> = {}) => formatAddress({ page: "incidents", id: "", query }),
  incident: (id: string) => formatAddress({ page: "incident", id, query: {} }),
  jobs: () => formatAddress({ page: "jobs", id: "", query: {} }),
  job: (id: string) => formatAddress({ page: "job", id, query: {} }),
  slos: () => formatAddress({ page: "slos", id: "", query: {} }),
  runbooks: () => formatAddress({ page: "runbooks", id: "", query: {} }),
  runbook: (id: string) => formatAddress({ page: "runbook", id, query: {} }),
};

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Commas stay unescaped, so that users can read `at=r12n04,0.5,1`. */
function escapeQuery(value: string): string {
  return encodeURIComponent(value).replaceAll("%2C", ",");
}

const listeners = new Set<() => void>();
let current: { hash: string; address: Address } = { hash: "", address: parseAddress("") };

/** The current address; the same object until it changes. */
export function addressNow(): Address {
  const hash = window.location.hash;
  if (hash !== current.hash) current = { hash, address: parseAddress(hash) };
  return current.address;
}

export function onAddress(listener: () => void): () => void {
  if (listeners.size === 0) window.addEventListener("hashchange", notify);
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) window.removeEventListener("hashchange", notify);
  };
}

function notify(): void {
  for (const listener of listeners) listener();
}

/** Changes part of the query without a history entry, so that "back" does not replay every map movement. */
export function amendQuery(changes: Record<string, string | null>): void {
  const address = addressNow();
  const query = { ...address.query };
  for (const [key, value] of Object.entries(changes)) {
    if (value === null || value === "") delete query[key];
    else query[key] = value;
  }
  const hash = formatAddress({ ...address, query });
  if (hash === window.location.hash) return;
  window.history.replaceState(null, "", hash);
  notify();
}

export function go(hash: string): void {
  window.location.hash = hash;
}
