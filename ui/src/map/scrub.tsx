// The time slider over the snapshots of the demo. It shows a past state of the fleet while the demo continues.

import { useEffect, useRef, useState } from "react";
import { Problem, send } from "../api";
import type { Demo } from "../contract";
import { clock, moment } from "../format";
import { readFleet, readMap } from "../live";

const SEND_AFTER_MS = 120;

export function Scrub({ demo }: { demo: Demo }) {
  const [held, setHeld] = useState<number | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const nothing = demo.newestSnapshot <= demo.oldestSnapshot;
  const value = held ?? demo.at ?? demo.newestSnapshot;
  const live = held === null && demo.at === null;

  useEffect(() => () => clearTimeout(timer.current), []);

  const show = async (at: number | null) => {
    try {
      await send("POST", "/demo/scrub", { at });
      setProblem(null);
      await Promise.all([readFleet(), readMap()]);
    } catch (cause) {
      if (cause instanceof Problem) setProblem(cause);
    }
    setHeld(null);
  };
  const moved = (at: number) => {
    setHeld(at);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => void show(at >= demo.newestSnapshot ? null : at), SEND_AFTER_MS);
  };

  return (
    <div className="scrub" role="group" aria-label="Time">
      <span className="scrub-edge" title={moment(demo.oldestSnapshot)}>
        {clock(demo.oldestSnapshot)}
      </span>
      <input
        type="range"
        aria-label="Time shown"
        aria-valuetext={live ? "live" : moment(value)}
        min={demo.oldestSnapshot}
        max={nothing ? demo.oldestSnapshot + 1 : demo.newestSnapshot}
        step={1000}
        value={live && nothing ? demo.oldestSnapshot + 1 : value}
        disabled={nothing}
        onChange={(event) => moved(Number(event.target.value))}
      />
      <span className="scrub-now" data-live={live}>
        {problem === null ? (live ? "Live" : clock(value)) : problem.what}
      </span>
      <button type="button" disabled={live} onClick={() => void show(null)}>
        Return to live
      </button>
    </div>
  );
}
