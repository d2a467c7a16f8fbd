// The map page: colours, legend, canvas, side panel and time slider. The address bar holds the whole view, so that users
// can share it as a link.

import { useCallback, useMemo, useRef, useState } from "react";
import { amendQuery } from "../address";
import { useAddress, useLive, useTheme } from "../hooks";
import { capital } from "../format";
import { Empty, ProblemNote, Waiting } from "../parts/notices";
import { FleetMap, type MapHandle } from "./canvas";
import { colourBy, colouringFrom, COLOURINGS, isReported } from "./colouring";
import { Finder } from "./finder";
import { Legend } from "./legend";
import { NodePanel } from "./panel";
import { Scrub } from "./scrub";

export function MapPage() {
  const { query } = useAddress();
  const theme = useTheme();
  const fleet = useLive((state) => state.map);
  const edition = useLive((state) => state.mapEdition);
  const demo = useLive((state) => state.fleet?.demo ?? null);
  const problem = useLive((state) => state.problem);
  const handle = useRef<MapHandle>(null);
  const [tracedHover, setTracedHover] = useState<string | null>(null);

  const colouring = colouringFrom(query["colour"]);
  const show = useMemo(() => new Set((query["show"] ?? "").split(",").filter((key) => key !== "")), [query["show"]]);
  // The columns change in place; `edition` rises with every change.
  const coloured = useMemo(
    () => (fleet === null ? null : colourBy(fleet, colouring, theme)),
    [fleet, edition, colouring, theme],
  );
  const selected = query["node"] ?? null;
  const traced = tracedHover ?? query["job"] ?? null;
  const pick = useCallback((name: string | null) => amendQuery({ node: name }), []);

  if (fleet === null || coloured === null) {
    return <div className="page">{problem === null ? <Waiting what="the map" lines={10} /> : <ProblemNote problem={problem} />}</div>;
  }
  if (fleet.names.length === 0) {
    return (
      <div className="page">
        <h1 className="visually-hidden">Fleet map</h1>
        <Empty title="No nodes to show.">
          <p>
            Each GPU will be a square on this map, grouped by node, rack, leaf and spine. The location of a node comes from node labels
            that a Fabric object names. To read about its fields:
          </p>
          <pre tabIndex={0}>
            <code>kubectl explain fabric.spec</code>
          </pre>
          <p>To see a simulated fleet:</p>
          <pre tabIndex={0}>
            <code>mainstay demo</code>
          </pre>
        </Empty>
      </div>
    );
  }

  return (
    <div className="map-page">
      <h1 className="visually-hidden">Fleet map</h1>
      <div className="map-tools">
        <div className="segments" role="group" aria-label="Colour by">
          {COLOURINGS.filter((word) => word === colouring || isReported(word, fleet)).map((word) => (
            <button
              key={word}
              type="button"
              aria-pressed={word === colouring}
              onClick={() => amendQuery({ colour: word === "stage" ? null : word, show: null })}
            >
              {capital(word)}
            </button>
          ))}
        </div>
        <Finder
          names={fleet.names}
          found={(name) => {
            handle.current?.centre(name);
            pick(name);
          }}
        />
        <div className="map-zoom" role="group" aria-label="Zoom">
          <button type="button" aria-label="Zoom out" title="Zoom out (-)" onClick={() => handle.current?.zoom(-1)}>
            −
          </button>
          <button type="button" aria-label="Zoom in" title="Zoom in (+)" onClick={() => handle.current?.zoom(1)}>
            +
          </button>
          <button type="button" title="Show the whole fleet (0)" onClick={() => handle.current?.whole()}>
            Fit
          </button>
        </div>
      </div>
      <div className="map-body">
        <Legend coloured={coloured} fleet={fleet} show={show} traced={traced} trace={setTracedHover} />
        <div className="map-stage">
          <FleetMap
            ref={handle}
            fleet={fleet}
            edition={edition}
            coloured={coloured}
            show={show}
            traced={traced}
            selected={selected}
            place={query["at"] ?? ""}
            pick={pick}
          />
          {selected === null ? null : <NodePanel name={selected} close={() => pick(null)} />}
        </div>
      </div>
      {demo === null ? null : <Scrub demo={demo} />}
    </div>
  );
}
