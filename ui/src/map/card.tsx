// The hover card of a node: at most six lines, from the map data alone, without a request.

import { count, counted, share } from "../format";
import { useSeen } from "../hooks";
import { StageMark } from "../parts/marks";
import { WAIT_NOUN } from "../waiting";
import { bits } from "./colouring";
import { UNKNOWN_CELSIUS, type FleetColumns } from "./columns";
import { packing, type Gang } from "./gang";
import type { Pick } from "./surface";

const WIDTH = 300;
const HEIGHT = 168;
const OFF = 14;

export function HoverCard({ fleet, pick, gang, within }: { fleet: FleetColumns; pick: Pick; gang: Gang | null; within: HTMLElement | null }) {
  const { node } = pick;
  const seen = useSeen("pods");
  const stage = fleet.stages[fleet.stage[node] ?? 0] ?? "InService";
  const wait = fleet.waits[fleet.wait[node] ?? 0] ?? "Nothing";
  const job = fleet.jobs[(fleet.job[node] ?? 0) - 1];
  const mask = fleet.faultyGpus[node] ?? 0;
  const width = within?.clientWidth ?? 0;
  const height = within?.clientHeight ?? 0;
  const left = pick.x + OFF + WIDTH > width ? Math.max(4, pick.x - OFF - WIDTH) : pick.x + OFF;
  const top = pick.y + OFF + HEIGHT > height ? Math.max(4, pick.y - OFF - HEIGHT) : pick.y + OFF;
  return (
    <div className="card" style={{ left, top, width: WIDTH }} aria-hidden="true">
      <p className="card-head">
        <b>{fleet.names[node]}</b>
        <StageMark stage={stage} />
      </p>
      {wait === "Nothing" ? null : <p>waiting for {WAIT_NOUN[wait]}</p>}
      {mask === 0 ? null : <p className="alarm-text">{sickWords(mask, fleet.gpusPerNode)}</p>}
      <p>
        {job === undefined ? (
          seen ? "no job" : "job not known: no permission to list pods"
        ) : (
          <>
            {job.name}
            {job.gpus === null ? "" : `, ${counted(job.gpus, "GPU")}`}
            {gang !== null && gang.id === job.id ? `, ${packing(gang)}` : ""}
          </>
        )}
      </p>
      <p>repair risk {share(fleet.riskPpm[node] ?? 0)} within 7 days</p>
      <p>{readings(fleet, node)}</p>
    </div>
  );
}

function sickWords(mask: number, gpus: number): string {
  const sick = Array.from({ length: gpus }, (_, gpu) => gpu).filter((gpu) => (mask & (1 << gpu)) !== 0);
  if (bits(mask) === gpus) return "every GPU has an open finding";
  return `GPU ${sick.join(", ")} ${sick.length === 1 ? "has" : "have"} an open finding`;
}

function readings(fleet: FleetColumns, node: number): string {
  const celsius = fleet.celsius?.[node];
  const decawatts = fleet.decawatts?.[node];
  const parts = [fleet.versions[fleet.version[node] ?? 0] ?? ""];
  if (celsius !== undefined && celsius !== UNKNOWN_CELSIUS) parts.unshift(`${celsius} °C`);
  if (decawatts !== undefined && decawatts !== UNKNOWN_CELSIUS) parts.splice(-1, 0, `${count(decawatts * 10)} W per GPU`);
  return parts.filter((part) => part !== "").join(" · ");
}
