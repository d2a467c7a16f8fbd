// The list of incidents: open, closed or all.

import { amendQuery, linkTo } from "../address";
import type { Incident, Page } from "../contract";
import { byLossRate } from "../headline";
import { useAddress, useLive, useResource } from "../hooks";
import { Empty, ProblemNote, Waiting } from "../parts/notices";
import { IncidentTable } from "../parts/incident-table";

const STATES = ["Open", "Closed", "All"];

export function IncidentsPage() {
  const { query } = useAddress();
  const open = useLive((state) => state.fleet?.incidentsOpen ?? 0);
  const demo = useLive((state) => state.fleet?.demo != null);
  const state = STATES.find((word) => word === query["state"]) ?? "Open";
  const incidents = useResource<Page<Incident>>(`/incidents?state=${state}`, ["*"], 3000);
  const items = incidents.data?.items ?? [];
  const sorted = state === "Open" ? byLossRate(items) : [...items].sort((a, b) => b.openedAt - a.openedAt);
  return (
    <div className="page">
      <div className="title">
        <h1>Incidents</h1>
        <p className="title-text">
          {open} open, <a href={linkTo.runbooks()}>all runbooks</a>
        </p>
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
          <Waiting what="incidents" lines={10} />
        ) : (
          <ProblemNote problem={incidents.problem} again={incidents.again} />
        )
      ) : items.length === 0 ? (
        <Empty title={state === "All" ? "No incidents yet." : `No ${state.toLowerCase()} incidents.`}>
          <p>An incident has one suspected cause. It opens with the first finding and closes when its nodes are back in service.</p>
          {demo ? (
            <p>
              To see one now, select <b>Inject a fault</b> in the bar above.
            </p>
          ) : (
            <>
              <p>The same list on the command line:</p>
              <pre tabIndex={0}>
                <code>mainstay incident list{state === "Open" ? "" : " --all"}</code>
              </pre>
            </>
          )}
        </Empty>
      ) : (
        <IncidentTable incidents={sorted} />
      )}
    </div>
  );
}
