// React hooks for the stores: address, live state, theme, one fetched resource, settings.

import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { addressNow, onAddress, type Address } from "./address";
import { get, Problem } from "./api";
import type { AllowedAction } from "./contract";
import { live, watch, watchSubjects, type Live } from "./live";
import type { Price } from "./format";
import { settings, watchSettings, type Settings } from "./settings";
import type { Theme } from "./palette";

export function useAddress(): Address {
  return useSyncExternalStore(onAddress, addressNow);
}

/** Selects from the live state; the selected value must be the same object while nothing has changed. */
export function useLive<T>(select: (state: Live) => T): T {
  return useSyncExternalStore(watch, () => select(live()));
}

/** The fleet's clock, which in the demo runs at its own speed. */
export function useNow(): number {
  return useLive((state) => state.fleet?.now ?? 0);
}

/** Who acts from this page: a user who enters a name, the caller that the API server authenticated, or no user at all. */
export type Actor = { as: "named" } | { as: "caller"; person: string } | { as: "readOnly" };

export function useActor(act: AllowedAction): Actor {
  const cluster = useLive((state) => state.fleet?.cluster ?? null);
  if (cluster === null) return { as: "named" };
  return cluster.user !== null && cluster.allowedActions.includes(act) ? { as: "caller", person: cluster.user } : { as: "readOnly" };
}

/** Whether the page may list a kind of the cluster. In a demo every kind is visible. */
export function useSeen(kind: string): boolean {
  return useLive((state) => !(state.fleet?.cluster?.unreadable ?? []).some((unread) => unread.kind === kind));
}

export function useSettings(): Settings {
  return useSyncExternalStore(watchSettings, settings);
}

export function usePrice(): Price {
  return useSettings().price;
}

const darkQuery = window.matchMedia("(prefers-color-scheme: dark)");

export function useTheme(): Theme {
  const chosen = useSettings().theme;
  const systemDark = useSyncExternalStore(
    (notify) => {
      darkQuery.addEventListener("change", notify);
      return () => darkQuery.removeEventListener("change", notify);
    },
    () => darkQuery.matches,
  );
  if (chosen !== "system") return chosen;
  return systemDark ? "dark" : "light";
}

export interface Resource<T> {
  data: T | null;
  problem: Problem | null;
  again: () => void;
}

const REFETCH_MS_MIN = 1000;

/** One resource of the API. It is read again when the stream reports a change of one of `subjects`, at most once a second. */
export function useResource<T>(path: string | null, subjects: readonly string[] = [], everyMs = 0): Resource<T> {
  const [data, setData] = useState<{ path: string; value: T } | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const wanted = subjects.join("\n");
  const againRef = useRef<() => void>(() => undefined);

  useEffect(() => {
    if (path === null) return;
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | null = null;
    let lastAt = 0;
    const read = async () => {
      lastAt = Date.now();
      try {
        const value = await get<T>(path, stop.signal);
        if (stop.signal.aborted) return;
        setData({ path, value });
        setProblem(null);
      } catch (cause) {
        if (!stop.signal.aborted && cause instanceof Problem) setProblem(cause);
      }
    };
    const soon = () => {
      if (timer !== null) return;
      timer = setTimeout(
        () => {
          timer = null;
          void read();
        },
        Math.max(0, REFETCH_MS_MIN - (Date.now() - lastAt)),
      );
    };
    againRef.current = soon;
    setProblem(null);
    void read();
    const names = new Set(wanted.split("\n"));
    const unwatch = watchSubjects((changed) => {
      if (changed.has("*") || [...names].some((name) => changed.has(name))) soon();
    });
    const interval = everyMs > 0 ? setInterval(soon, everyMs) : null;
    return () => {
      stop.abort();
      unwatch();
      if (timer !== null) clearTimeout(timer);
      if (interval !== null) clearInterval(interval);
    };
  }, [path, wanted, everyMs]);

  const again = useCallback(() => againRef.current(), []);
  return { data: data !== null && data.path === path ? data.value : null, problem, again };
}
