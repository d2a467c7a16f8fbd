// Settings of the user, stored in this browser only: theme, price of a GPU-hour, name for requests.

import type { Price } from "./format";

export interface Settings {
  theme: "system" | "light" | "dark";
  price: Price;
  person: string;
}

const KEY = "mainstay.settings";

/** Default settings. The page shows the price and that it is an assumption. */
const ASSUMED: Settings = { theme: "system", price: { perGpuHour: 2.5, sign: "$" }, person: "" };

const watchers = new Set<() => void>();
let current = read();

function read(): Settings {
  try {
    const kept = JSON.parse(window.localStorage.getItem(KEY) ?? "{}") as Partial<Settings>;
    return { ...ASSUMED, ...kept };
  } catch {
    return ASSUMED;
  }
}

export function settings(): Settings {
  return current;
}

export function watchSettings(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

export function choose(changes: Partial<Settings>): void {
  current = { ...current, ...changes };
  try {
    window.localStorage.setItem(KEY, JSON.stringify(current));
  } catch {
    // A private window may refuse storage; the setting then lasts until the page closes.
  }
  for (const watcher of watchers) watcher();
}
