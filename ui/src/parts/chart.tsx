// Charts over time, drawn by uPlot, which is loaded with the first chart.

import { useEffect, useMemo, useRef, useState } from "react";
import type uPlot from "uplot";
import { clock, count } from "../format";
import { useLive, useTheme } from "../hooks";
import { PALETTE } from "../palette";

export interface Series {
  label: string;
  /** Moments in milliseconds. */
  at: number[];
  values: (number | null)[];
  /** Moments drawn as vertical lines. */
  events?: { at: number; text: string }[];
  /** Start of the value axis: zero, or near the lowest value where only the growth matters. */
  from?: "zero" | "lowest";
}

export function Chart({ series, height, describe }: { series: Series; height: number; describe: string }) {
  const box = useRef<HTMLDivElement>(null);
  const theme = useTheme();
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(series);
  latest.current = series;
  const [ready, setReady] = useState(false);

  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    let gone = false;
    let observer: ResizeObserver | null = null;
    void Promise.all([import("uplot"), import("uplot/dist/uPlot.min.css")]).then(([{ default: UPlot }]) => {
      if (gone) return;
      plot.current = new UPlot(options(theme, element.clientWidth, height, latest), dataOf(latest.current), element);
      observer = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height }));
      observer.observe(element);
      setReady(true);
    });
    return () => {
      gone = true;
      observer?.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [theme, height]);

  useEffect(() => {
    plot.current?.setData(dataOf(series));
  }, [series]);

  return <div ref={box} className="chart" role="img" aria-label={describe} data-ready={ready} style={{ height }} />;
}

/** Steps of the time axis in seconds. Labels show hours and minutes, so no step is shorter than a minute. */
const MINUTES = [1, 2, 5, 10, 15, 30, 60, 120, 240, 720, 1440].map((minutes) => minutes * 60);

function dataOf(series: Series): uPlot.AlignedData {
  return [series.at.map((at) => at / 1000), series.values];
}

function options(theme: "light" | "dark", width: number, height: number, latest: { current: Series }): uPlot.Options {
  const palette = PALETTE[theme];
  const axis = {
    stroke: palette.muted,
    grid: { stroke: palette.rack, width: 1 },
    ticks: { show: false },
    font: "12px system-ui, sans-serif",
  };
  return {
    width,
    height,
    legend: { show: false },
    cursor: { show: false },
    padding: [8, 8, 0, 0],
    scales: { x: { range: (_plot, low, high) => withEvents(low, high, latest.current.events ?? []) }, y: { range: (_plot, low, high) => (latest.current.from === "lowest" ? around(low, high) : [0, Math.max(1, high * 1.1)]) } },
    axes: [
      { ...axis, space: 72, size: 24, incrs: MINUTES, values: (_plot, marks) => marks.map((mark) => clock(mark * 1000).slice(0, 5)) },
      { ...axis, size: 52, space: 28, values: (_plot, marks) => marks.map((mark) => (Number.isInteger(mark) ? count(mark) : "")) },
    ],
    series: [
      {},
      {
        label: latest.current.label,
        stroke: palette.accent,
        width: 1.5,
        points: { show: latest.current.at.length < 40, size: 5, fill: palette.accent },
        fill: `${palette.accent}22`,
      },
    ],
    hooks: { draw: [(plot) => drawEvents(plot, latest.current.events ?? [], palette.alarm)] },
  };
}

function around(low: number, high: number): [number, number] {
  const room = Math.max(1, (high - low) * 0.15);
  return [Math.max(0, low - room), high + room];
}

/** Extends the time axis to events after the last point. */
function withEvents(low: number, high: number, events: { at: number }[]): [number, number] {
  return [low, events.reduce((most, { at }) => Math.max(most, at / 1000), high)];
}

function drawEvents(plot: uPlot, events: { at: number }[], colour: string): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = colour;
  ctx.fillStyle = colour;
  ctx.lineWidth = 1.5 * devicePixelRatio;
  for (const { at } of events) {
    const x = plot.valToPos(at / 1000, "x", true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.setLineDash([]);
    const size = 4 * devicePixelRatio;
    ctx.beginPath();
    ctx.moveTo(x - size, bbox.top);
    ctx.lineTo(x + size, bbox.top);
    ctx.lineTo(x, bbox.top + 1.6 * size);
    ctx.fill();
  }
  ctx.restore();
}

/** GPUs of suspect nodes and of nodes out of service, over the time that the server keeps. */
export function OutChart() {
  const points = useLive((state) => state.series);
  const series = useMemo(() => ({ label: "GPUs suspect or out of service", at: points.map((point) => point.at), values: points.map((point) => point.gpusOut) }), [points]);
  if (points.length < 2) return <p className="chart-wait" style={{ height: 140 }}>The chart starts with the first minute of data.</p>;
  const last = points.at(-1)?.gpusOut ?? 0;
  return <Chart series={series} height={140} describe={`GPUs suspect or out of service over time; now ${count(last)}`} />;
}
