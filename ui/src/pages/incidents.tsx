// Incidents as a list, open or all.

import { amendQuery } from "../address";
import type { Incident, Page } from "../contract";
import { byLossRate } from "../headline";
import { useAddress, useLive, useResource } from "../hooks";
import { Empty, ProblemNote, Waiting } from "../parts/notices";
import { IncidentTable } from "../parts/incident-table";

const STATES = ["Open", "Closed", "All"];

export function IncidentsPage() {
  const { query } = useAddress();
  const open = useLive((state) => state.fleet?.incidentsOpen ?? 0);
  const state = STATES.find((word) => word === query["state"]) ?? "Open";
  const incidents = useResource<Page<Incident>>(`/incidents?state=${state}`, ["*"], 3000);
  const items = incidents.data?.items ?? [];
  const sorted = state === "Open" ? byLossRate(items) : [...items].sort((a, b) => b.openedAt - a.openedAt);
  return (
    <div className="page">
      <div className="title">
        <h1>Incidents</h1>
        <p className="title-text">{open} open</p>
      </div>
      <div className="segments" role="group" aria-label="State">
        {STATES.map((word) => (
          <button key={word} type="button" aria-pressed={word === state} onClick={() => amendQuery({ state: word === "Open" ? null : word })}>
            {word}
          </button>
        ))}
      </div>
      {incidents.data === null ? (
        incidents.problem === null ? (
          <Waiting what="the incidents" lines={10} />
        ) : (
          <ProblemNote problem={incidents.problem} again={incidents.again} />
        )
      ) : items.length === 0 ? (
        <Empty title={state === "Open" ? "No incident is open." : "No incident yet."}>
          <p>An incident has one cause and one blamed subject. It opens with the first finding and closes when its nodes are back.</p>
        </Empty>
      ) : (
        <IncidentTable incidents={sorted} />
      )}
    </div>
  );
}
