// What the viewer chose, kept in this browser only: theme, the price of a GPU-hour, the name that requests are signed with.

import type { Price } from "./format";

export interface Settings {
  theme: "system" | "light" | "dark";
  price: Price;
  person: string;
}

const KEY = "mainstay.settings";

/** A price has to stand somewhere before the first GPU-hour is shown in money; the page says that it is assumed. */
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
    // Private windows may refuse to keep it; the choice then holds for this page.
  }
  for (const watcher of watchers) watcher();
}
