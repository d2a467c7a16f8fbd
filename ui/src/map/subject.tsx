// Small static maps: the location of an incident or a job, and the whole fleet. A click opens the full map.

import { useEffect, useMemo, useRef } from "react";
import { linkTo } from "../address";
import { useLive, useTheme } from "../hooks";
import { colourBy, nodeColours } from "./colouring";
import { layOut } from "./layout";
import { drawStill } from "./still";

const SHAPE = 1.7;

export function SubjectMap({ nodes, label, job }: { nodes: string[]; label: string; job?: string }) {
  const names = useLive((state) => state.map)?.names;
  const wanted = nodes.join("\n");
  const lit = useMemo(() => {
    const listed = new Set(wanted.split("\n"));
    const found = new Set<number>();
    names?.forEach((name, node) => listed.has(name) && found.add(node));
    return found;
  }, [names, wanted]);
  const first = nodes[0];
  const query: Record<string, string> = {};
  if (job !== undefined) query["job"] = job;
  else if (first !== undefined) {
    query["node"] = first;
    query["at"] = `${first},4,0,8`;
  }
  return <StillMap lit={lit} rings={job === undefined} href={linkTo.map(query)} label={`${label}. Open the full map.`} />;
}

/** The whole fleet, coloured by stage. */
export function Overview() {
  return <StillMap lit={null} rings={false} href={linkTo.map()} label="Fleet overview. Open the full map." />;
}

function StillMap({ lit, rings, href, label }: { lit: ReadonlySet<number> | null; rings: boolean; href: string; label: string }) {
  const fleet = useLive((state) => state.map);
  const edition = useLive((state) => state.mapEdition);
  const theme = useTheme();
  const canvas = useRef<HTMLCanvasElement>(null);
  const layout = useMemo(() => (fleet === null ? null : layOut(fleet, SHAPE)), [fleet?.names.length, fleet?.racks.length]);

  useEffect(() => {
    const element = canvas.current;
    if (element === null || fleet === null || layout === null) return;
    const colours = nodeColours(fleet, colourBy(fleet, "stage", theme), { show: new Set(), nodes: lit }, theme);
    const draw = () => drawStill(element, { fleet, layout, colours, theme, lit, rings });
    draw();
    const observer = new ResizeObserver(draw);
    observer.observe(element);
    return () => observer.disconnect();
  }, [fleet, edition, layout, lit, rings, theme]);

  return (
    <a className="subject-map" href={href} aria-label={label}>
      <canvas ref={canvas} aria-hidden="true" />
    </a>
  );
}
