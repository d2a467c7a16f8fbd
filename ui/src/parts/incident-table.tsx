// A table of incidents: capacity out of service, title, state and next step, work lost and saved.

import { linkTo } from "../address";
import type { Incident } from "../contract";
import { count, gpuHoursKnown, capacityGpus } from "../format";
import { When } from "./marks";

export function IncidentTable({ incidents }: { incidents: Incident[] }) {
  // A real cluster does not report lost work; empty columns are left out.
  const counts = incidents.some((incident) => incident.lostGpuSeconds !== null || incident.savedGpuSeconds !== null);
  const open = incidents.some((incident) => incident.state === "Open");
  const rates = open && (counts || incidents.some((incident) => incident.outOfServiceGpuSecondsPerHour > 0));
  return (
    <div className="scroll" tabIndex={0} role="group" aria-label="Incidents">
      <table className="table incidents" data-rates={rates}>
        <thead>
          <tr>
            {rates ? (
              <th scope="col" className="number">
                Out of service <span className="unit">GPUs</span>
              </th>
            ) : null}
            <th scope="col">Incident, state and next step</th>
            <th scope="col" className="number">
              Affected <span className="unit">GPUs</span>
            </th>
            {counts ? (
              <>
                <th scope="col" className="number">
                  Work lost <span className="unit">GPU-h</span>
                </th>
                <th scope="col" className="number">
                  Work saved <span className="unit">GPU-h</span>
                </th>
              </>
            ) : null}
            <th scope="col">Opened</th>
          </tr>
        </thead>
        <tbody>
          {incidents.map((incident) => (
            <tr key={incident.id}>
              {rates ? (
                <td className="number rate">
                  <b>{incident.state === "Closed" ? "–" : capacityGpus(incident.outOfServiceGpuSecondsPerHour)}</b>
                </td>
              ) : null}
              <td className="wide">
                <a className="row-title" href={linkTo.incident(incident.id)}>
                  {incident.title}
                </a>
                <span className="row-text">
                  {incident.doing}
                  {incident.acknowledgedBy === null ? (incident.state === "Open" ? " Not acknowledged." : "") : ` Acknowledged by ${incident.acknowledgedBy}.`}
                </span>
              </td>
              <td className="number extra">{count(incident.gpus)}</td>
              {counts ? (
                <>
                  <td className="number extra">{gpuHoursKnown(incident.lostGpuSeconds)}</td>
                  <td className="number extra">{gpuHoursKnown(incident.savedGpuSeconds)}</td>
                </>
              ) : null}
              <td className="opened">
                <When at={incident.openedAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
