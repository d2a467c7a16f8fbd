// The legend of the map: GPU counts per class, a filter by click, and highlighting of jobs by pointer.

import { useState } from "react";
import { amendQuery, linkTo } from "../address";
import { capital, count } from "../format";
import { StageShape } from "../parts/marks";
import type { ColourClass, Coloured } from "./colouring";
import type { FleetColumns } from "./columns";
import { gangOf, packing } from "./gang";

interface LegendProps {
  coloured: Coloured;
  fleet: FleetColumns;
  show: ReadonlySet<string>;
  traced: string | null;
  trace: (job: string | null) => void;
}

/** Longest list of entries; above it the user searches. */
const LINES_MAX = 40;

export function Legend({ coloured, fleet, show, traced, trace }: LegendProps) {
  const [search, setSearch] = useState("");
  const jobs = coloured.colouring === "job";
  const ordered = jobs ? [...coloured.classes].sort((a, b) => b.gpus - a.gpus) : coloured.classes;
  const lines = ordered.filter((found) => found.gpus > 0 || show.has(found.key) || ALWAYS.has(found.key)).filter((found) => found.label.includes(search));
  const gang = traced === null ? null : gangOf(fleet, traced);

  const toggle = (key: string) => {
    const next = new Set(show);
    if (next.has(key)) next.delete(key);
    else next.add(key);
    amendQuery({ show: [...next].join(",") });
  };

  return (
    <aside className="legend" aria-label="Legend">
      <div className="legend-head">
        <span>{capital(coloured.unit)}</span>
        <span className="legend-unit">GPUs</span>
      </div>
      {jobs ? (
        <input
          className="legend-search"
          type="search"
          placeholder="Find a job"
          aria-label="Find a job"
          value={search}
          onChange={(event) => setSearch(event.target.value)}
        />
      ) : null}
      {coloured.known ? (
        <ul className="legend-lines">
          {lines.slice(0, LINES_MAX).map((found) => (
            <li key={found.key}>
              <button
                type="button"
                aria-pressed={show.has(found.key)}
                data-off={show.size > 0 && !show.has(found.key)}
                onClick={() => toggle(found.key)}
                onPointerEnter={() => jobs && found.key !== "none" && trace(found.key)}
                onPointerLeave={() => jobs && trace(null)}
                onFocus={() => jobs && found.key !== "none" && trace(found.key)}
                onBlur={() => jobs && trace(null)}
              >
                <Swatch found={found} />
                <span className="legend-label">{jobs ? found.label : capital(found.label)}</span>
                <span className="legend-count">{count(found.gpus)}</span>
              </button>
            </li>
          ))}
        </ul>
      ) : (
        <p className="legend-note">This fleet does not report this value.</p>
      )}
      {lines.length > LINES_MAX ? <p className="legend-note">and {count(lines.length - LINES_MAX)} more. Type part of a name to find one.</p> : null}
      <div className="legend-foot">
        {gang === null ? (
          show.size === 0 ? (
            <p className="legend-note">{jobs ? "Point at a job to highlight its nodes." : "Click an entry to highlight it."}</p>
          ) : (
            <p className="legend-note">
              <button type="button" className="inline" onClick={() => amendQuery({ show: null })}>
                Show all
              </button>
              {coloured.colouring === "stage" && show.size === 1 ? (
                <>
                  {" · "}
                  <a href={linkTo.nodes({ stage: [...show].join(",") })}>List these nodes</a>
                </>
              ) : null}
            </p>
          )
        ) : (
          <p className="legend-note">
            <a href={linkTo.job(gang.id)}>{gang.name}</a>: {gang.gpus === null ? "" : `${count(gang.gpus)} GPUs on `}
            {count(gang.nodes.size)} {gang.nodes.size === 1 ? "node" : "nodes"}, {packing(gang)}.
          </p>
        )}
        <p className="legend-note legend-keys">
          Keys on the map: arrows move between nodes, Shift and arrows move the map, <kbd>+</kbd> <kbd>−</kbd> zoom, <kbd>0</kbd> fits, Enter opens, Escape
          closes.
        </p>
      </div>
    </aside>
  );
}

/** Classes shown even when empty, so that the legend does not move with the first fault. */
const ALWAYS = new Set(["InService", "Suspect", "Quarantined", "Draining", "Repairing", "Qualifying", "Held", "open"]);

function Swatch({ found }: { found: ColourClass }) {
  return (
    <span className="swatch-pair">
      <span className="swatch" style={{ background: found.colour }} aria-hidden="true" />
      {found.stage === undefined ? null : <StageShape stage={found.stage} />}
    </span>
  );
}
