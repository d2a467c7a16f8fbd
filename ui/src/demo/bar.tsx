// The demo controls: virtual clock, pause, speed, and fault injection.

import { useState } from "react";
import { send, Problem } from "../api";
import type { Demo } from "../contract";
import { clock, moment } from "../format";
import { readFleet } from "../live";
import { InjectDialog } from "./inject";

const SPEEDS = [1, 10, 60, 600, 3600];

export function DemoBar({ demo, now }: { demo: Demo; now: number }) {
  const [problem, setProblem] = useState<Problem | null>(null);
  const [injecting, setInjecting] = useState(false);
  const change = (body: { paused?: boolean; speed?: number }) => call("/demo", body);
  const backToNow = () => call("/demo/scrub", { at: null });
  const call = async (path: string, body: object) => {
    try {
      await send("POST", path, body);
      setProblem(null);
      await readFleet();
    } catch (cause) {
      if (cause instanceof Problem) setProblem(cause);
    }
  };
  const speeds = SPEEDS.includes(demo.speed) ? SPEEDS : [...SPEEDS, demo.speed].sort((a, b) => a - b);
  return (
    <div className="demo" role="region" aria-label="Demo controls">
      <span className="demo-word">Demo</span>
      <time className="demo-clock" dateTime={new Date(now).toISOString()} title={moment(now)}>
        {clock(now)}
      </time>
      <button type="button" onClick={() => void change({ paused: !demo.paused })} aria-pressed={demo.paused}>
        {demo.paused ? "Resume" : "Pause"}
      </button>
      <label>
        <span className="demo-speed-word">Speed</span>
        <select
          value={demo.speed}
          aria-label="Speed"
          onChange={(event) => void change({ speed: Number(event.target.value) })}
        >
          {speeds.map((speed) => (
            <option key={speed} value={speed}>
              {speed} ×
            </option>
          ))}
        </select>
      </label>
      <button type="button" disabled={demo.at !== null} onClick={() => setInjecting(true)}>
        Inject a fault
      </button>
      {demo.at === null ? null : (
        <span className="demo-past" role="status">
          Viewing the past, not live.{" "}
          <button type="button" className="inline" onClick={() => void backToNow()}>
            Return to live
          </button>
        </span>
      )}
      <span className="demo-note">
        {problem === null ? `Simulated fleet, seed ${demo.seed}. No real cluster is involved.` : problem.message}
      </span>
      {injecting ? <InjectDialog close={() => setInjecting(false)} /> : null}
    </div>
  );
}
