// The map canvas in React: passes the scene to the surface, keeps the camera in the address, shows the hover card.

import { useEffect, useImperativeHandle, useMemo, useRef, useState, type Ref } from "react";
import { amendQuery } from "../address";
import { counted } from "../format";
import { useLive, useTheme } from "../hooks";
import { STAGE_WORD } from "../stage";
import { HoverCard } from "./card";
import { cameraFrom, cameraText } from "./camera";
import { nodeColours, type Coloured } from "./colouring";
import type { FleetColumns } from "./columns";
import { gangOf } from "./gang";
import { layOut, shapeOf, type Layout, type Shape } from "./layout";
import { Surface, type Pick } from "./surface";

export interface MapHandle {
  zoom(steps: number): void;
  whole(): void;
  centre(name: string): void;
}

interface FleetMapProps {
  ref: Ref<MapHandle>;
  fleet: FleetColumns;
  edition: number;
  coloured: Coloured;
  show: ReadonlySet<string>;
  traced: string | null;
  selected: string | null;
  place: string;
  pick: (name: string | null) => void;
}

declare global {
  interface Window {
    /** For measurements: time of a full redraw, and of a plain copy of the same number of pixels. */
    __mainstay?: { ready: boolean; firstPaintMs: number; redraw: () => number; bareCopy: () => number };
  }
}

/** Delay before a hovered job is highlighted. */
const TRACE_AFTER_MS = 180;

export function FleetMap({ ref, fleet, edition, coloured, show, traced, selected, place, pick }: FleetMapProps) {
  const theme = useTheme();
  const incidents = useLive((state) => state.incidents);
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const surface = useRef<Surface | null>(null);
  const [shape, setShape] = useState<Shape>(() => shapeOf(window.innerWidth, window.innerHeight));
  const [hovered, setHovered] = useState<Pick | null>(null);
  const [hoverJob, setHoverJob] = useState<string | null>(null);
  const [spoken, setSpoken] = useState("");

  // A reload rarely changes the topology; a new layout would make the map jump.
  const layout = useMemo(() => layOut(fleet, shape), [fleet.names.length, fleet.racks.length, fleet.spines.length, shape]);
  const latest = useRef({ fleet, pick, layout });
  /** The camera in the address as this map last wrote it, and the layout at that time. */
  const written = useRef<string | null>(null);
  const laidOut = useRef<Layout | null>(null);
  latest.current = { fleet, pick, layout };

  const trace = traced ?? hoverJob;
  const gang = useMemo(() => (trace === null ? null : gangOf(fleet, trace)), [fleet, edition, trace]);
  const colours = useMemo(
    () => nodeColours(fleet, coloured, { show, nodes: gang?.nodes ?? null, others: traced === null ? "little" : "far" }, theme),
    [fleet, coloured, show, gang, traced === null, theme],
  );
  const sickLabels = useMemo(() => new Map((incidents ?? []).map((incident) => [incident.id, incident.title])), [incidents]);
  const selectedNode = selected === null ? -1 : fleet.names.indexOf(selected);

  useEffect(() => {
    const element = canvas.current;
    const around = box.current;
    if (element === null || around === null) return;
    let later: ReturnType<typeof setTimeout> | undefined;
    const made = new Surface(element, {
      hovered: setHovered,
      picked: (node) => latest.current.pick(node === null ? null : (latest.current.fleet.names[node] ?? null)),
      reached: (node) => {
        const { x, y } = made.placeOf(node);
        setHovered({ node, gpu: 0, x, y });
        setSpoken(describe(latest.current.fleet, node));
      },
      moved: (camera) => {
        clearTimeout(later);
        later = setTimeout(() => {
          const { layout: now, fleet: shown } = latest.current;
          const at = made.showsWhole ? "" : cameraText(camera, now, shown.names, made.pixelRatio);
          written.current = at;
          amendQuery({ at });
        }, 250);
      },
    });
    surface.current = made;
    const observer = new ResizeObserver(() => {
      made.resize(around.clientWidth, around.clientHeight, window.devicePixelRatio);
      setShape(shapeOf(around.clientWidth, around.clientHeight));
      // A cluster without changes may send nothing for minutes after the map has its size.
      firstPaint(made);
    });
    observer.observe(around);
    return () => {
      clearTimeout(later);
      observer.disconnect();
      made.close();
      surface.current = null;
    };
  }, []);

  useEffect(() => {
    const made = surface.current;
    if (made === null) return;
    const marks = { selected: selectedNode === -1 ? null : selectedNode, cursor: null, sickLabels, outlined: NONE };
    made.show({ fleet, layout, colours, theme, marks });
    firstPaint(made);
  }, [fleet, layout, colours, theme, selectedNode, sickLabels]);

  // Follow the address when the page opens, the layout changes or the user follows a link, but not after the map itself
  // wrote the address.
  useEffect(() => {
    const made = surface.current;
    const around = box.current;
    if (made === null || around === null || (place === written.current && laidOut.current === layout)) return;
    written.current = place;
    laidOut.current = layout;
    made.resize(around.clientWidth, around.clientHeight, window.devicePixelRatio);
    made.follow(place === "" ? null : cameraFrom(place, layout, latest.current.fleet.names, window.devicePixelRatio));
  }, [layout, place]);

  useEffect(() => {
    const job = hovered === null ? 0 : (fleet.job[hovered.node] ?? 0);
    const id = job === 0 ? null : (fleet.jobs[job - 1]?.id ?? null);
    const timer = setTimeout(() => setHoverJob(id), TRACE_AFTER_MS);
    return () => clearTimeout(timer);
  }, [hovered?.node, fleet]);

  useImperativeHandle(ref, () => ({
    zoom: (steps) => surface.current?.zoom(steps),
    whole: () => surface.current?.whole(),
    centre: (name) => {
      const node = latest.current.fleet.names.indexOf(name);
      if (node !== -1) surface.current?.centre(node);
    },
  }));

  return (
    <div ref={box} className="map-canvas">
      <canvas
        ref={canvas}
        tabIndex={0}
        role="application"
        aria-roledescription="map"
        aria-label={`Fleet map, ${counted(fleet.names.length * fleet.gpusPerNode, "GPU")}. Arrow keys move between nodes, Shift and arrow keys move the map, plus and minus zoom, 0 shows the whole fleet, Enter opens a node, Escape closes it.`}
      />
      <span className="visually-hidden" aria-live="polite">
        {spoken}
      </span>
      {hovered === null || hovered.node === selectedNode ? null : <HoverCard fleet={fleet} pick={hovered} gang={gang} within={box.current} />}
    </div>
  );
}

const NONE: ReadonlySet<number> = new Set();

function describe(fleet: FleetColumns, node: number): string {
  const stage = fleet.stages[fleet.stage[node] ?? 0] ?? "InService";
  return `${fleet.names[node] ?? ""}, ${STAGE_WORD[stage]}`;
}

function firstPaint(surface: Surface): void {
  if (window.__mainstay?.ready === true) {
    window.__mainstay = { ...window.__mainstay, redraw: () => surface.redraw(), bareCopy: () => surface.bareCopy() };
    return;
  }
  // Painted now and not with the next frame, so that the mark is the time of the first paint.
  if (surface.redraw() === 0) return;
  performance.mark("mainstay-map-first-paint");
  window.__mainstay = {
    ready: true,
    firstPaintMs: performance.now(),
    redraw: () => surface.redraw(),
    bareCopy: () => surface.bareCopy(),
  };
}
