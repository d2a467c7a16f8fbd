// The GPUs of a node: a strip for an overview, and a table by serial number, because history follows the serial number.

import type { GpuRecord, NodeDetail, Page, PartFinding } from "../../contract";
import { counted } from "../../format";
import { useResource } from "../../hooks";
import { Id } from "../../parts/marks";

export function GpuStrip({ node }: { node: NodeDetail }) {
  if (node.gpusList.length === 0) return null;
  return (
    <ul className="gpu-strip" aria-label="GPUs">
      {node.gpusList.map((gpu) => (
        <li key={gpu.index} data-sick={gpu.findings.length > 0} title={`GPU ${gpu.index}: ${findingWords(gpu.findings)}`}>
          <span className="visually-hidden">GPU </span>
          {gpu.index}
          <span className="visually-hidden">: {findingWords(gpu.findings)}</span>
        </li>
      ))}
    </ul>
  );
}

/** How soon running jobs must stop because of a finding. */
const URGENCY_WORD: Record<PartFinding["urgency"], string> = {
  Now: "jobs must stop now",
  Minutes: "jobs must stop within minutes",
  NextCheckpoint: "jobs must stop at the next checkpoint",
};

export function findingWords(findings: PartFinding[]): string {
  if (findings.length === 0) return "no open findings";
  return findings.map((finding) => `${finding.rule} (${URGENCY_WORD[finding.urgency]})`).join(", ");
}

export function GpuTable({ node }: { node: NodeDetail }) {
  const records = useResource<Page<GpuRecord>>(`/gpus?node=${encodeURIComponent(node.name)}&limit=16`, [node.name]);
  const history = new Map((records.data?.items ?? []).map((record) => [record.serial, record.incidents]));
  return (
    <div className="scroll" tabIndex={0} role="group" aria-label="GPUs by serial number">
      <table className="table">
        <thead>
          <tr>
            <th scope="col" className="number">
              GPU
            </th>
            <th scope="col">Open findings</th>
            <th scope="col">Serial</th>
            <th scope="col" className="number">
              Incidents <span className="unit">this serial</span>
            </th>
            <th scope="col">PCI</th>
            <th scope="col">UUID</th>
          </tr>
        </thead>
        <tbody>
          {node.gpusList.map((gpu) => {
            const incidents = history.get(gpu.serial);
            return (
              <tr key={gpu.index} data-sick={gpu.findings.length > 0}>
                <td className="number">{gpu.index}</td>
                <td className="wide">{gpu.findings.length === 0 ? <span className="row-text">none</span> : <b className="alarm-text">{findingWords(gpu.findings)}</b>}</td>
                <td>
                  <Id text={gpu.serial} />
                </td>
                <td className="number" title={incidents === undefined ? "" : counted(incidents, "incident")}>
                  {incidents ?? "–"}
                </td>
                <td>
                  <code>{gpu.pci}</code>
                </td>
                <td>
                  <Id text={gpu.uuid} />
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
