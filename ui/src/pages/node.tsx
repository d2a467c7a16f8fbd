// One node: stage, reason, evidence, repair steps, and the form for operator requests.

import { linkTo } from "../address";
import type { Evidence, NodeDetail } from "../contract";
import { count, share } from "../format";
import { useResource } from "../hooks";
import { Id, StageMark, When } from "../parts/marks";
import { Empty, NotThere, Waiting } from "../parts/notices";
import { NodeFacts } from "./node/facts";
import { GpuStrip, GpuTable } from "./node/gpus";
import { RequestForm } from "./node/request";
import { StageTimeline } from "./node/stages";
import { RepairSteps } from "./node/steps";
import { WhyBlock } from "./node/why";

export function NodePage({ name }: { name: string }) {
  const { data: node, problem, again } = useResource<NodeDetail>(`/nodes/${encodeURIComponent(name)}`, [name]);
  if (node === null) {
    return <div className="page">{problem === null ? <Waiting what={name} lines={10} /> : <NotThere name={name} problem={problem} again={again} />}</div>;
  }
  return (
    <div className="page">
      <div className="title">
        <div>
          <h1>
            <Id text={node.name} />
          </h1>
          <p className="title-text">
            Entered this stage <When at={node.since} />
          </p>
        </div>
        <div className="title-end">
          <StageMark stage={node.stage} />
          <a href={linkTo.map({ node: node.name, at: `${node.name},4,0,10` })}>Show on the map</a>
        </div>
      </div>
      <div className="columns">
        <div className="column-main">
          <section aria-labelledby="why">
            <h2 id="why">Why</h2>
            <WhyBlock why={node.why} waitingOn={node.waitingOn} />
          </section>
          <section aria-labelledby="stages">
            <h2 id="stages">Stage history</h2>
            <StageTimeline timeline={node.timeline} />
          </section>
          <section aria-labelledby="evidence">
            <h2 id="evidence">Evidence</h2>
            <EvidenceTable evidence={node.evidence} gpus={node.gpusList} />
          </section>
          <section aria-labelledby="gpus">
            <h2 id="gpus">GPUs by serial number</h2>
            <GpuTable node={node} />
          </section>
          <RepairSteps node={node} />
        </div>
        <aside className="column-side" aria-label="Node details">
          <section className="panel">
            <h2>Node</h2>
            <GpuStrip node={node} />
            <NodeFacts node={node} />
          </section>
          <section className="panel">
            <h2>Operator request</h2>
            <RequestForm key={node.name} node={node} done={again} />
          </section>
          <RiskPanel risk={node.risk} />
          <section className="panel">
            <h2>Identity</h2>
            <dl className="facts">
              <dt>UID</dt>
              <dd>
                <Id text={node.uid} />
              </dd>
              <dt>Boot ID</dt>
              <dd>{node.bootId === null ? "not reported" : <Id text={node.bootId} />}</dd>
            </dl>
          </section>
        </aside>
      </div>
    </div>
  );
}

function EvidenceTable({ evidence, gpus }: { evidence: Evidence[]; gpus: NodeDetail["gpusList"] }) {
  const place = new Map(gpus.map((gpu) => [gpu.serial, gpu.index]));
  if (evidence.length === 0) {
    return (
      <Empty title="No evidence.">
        <p>Kernel log lines, counters and sensor readings that match a rule are counted here. To scan the node now, run on it:</p>
        <pre tabIndex={0}>
          <code>mainstay-agent scan</code>
        </pre>
      </Empty>
    );
  }
  return (
    <div className="scroll" tabIndex={0} role="group" aria-label="Evidence">
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Code</th>
            <th scope="col">Device</th>
            <th scope="col" className="number">
              Count
            </th>
            <th scope="col">First</th>
            <th scope="col">Last</th>
            <th scope="col">Detail</th>
          </tr>
        </thead>
        <tbody>
          {evidence.map((item) => (
            <tr key={`${item.code} ${item.device ?? ""} ${item.detail ?? ""}`}>
              <td>
                <code>{item.code}</code>
              </td>
              <td>
                {item.device === null ? "node" : place.has(item.device) ? <span title={item.device}>GPU {place.get(item.device)}</span> : item.device}
              </td>
              <td className="number">{count(item.count)}</td>
              <td>
                <When at={item.firstAt} />
              </td>
              <td>
                <When at={item.lastAt} />
              </td>
              <td className="wide">{item.detail ?? ""}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function RiskPanel({ risk }: { risk: NodeDetail["risk"] }) {
  const most = Math.max(1, ...risk.parts.map((part) => part.ppm));
  return (
    <section className="panel">
      <div className="section-head">
        <h2>Failure risk</h2>
        <span>{share(risk.ppm)} within 7 days</span>
      </div>
      {risk.parts.length === 0 ? (
        <p>No past fault raises the risk of this node.</p>
      ) : (
        <ul className="budgets">
          {risk.parts.map((part) => (
            <li key={part.what}>
              <span className="budget-name">{part.what}</span>
              <span className="budget-count">{share(part.ppm)}</span>
              <span className="bar" aria-hidden="true">
                <span style={{ width: `${(100 * part.ppm) / most}%` }} />
              </span>
            </li>
          ))}
        </ul>
      )}
      {risk.lemon === "Yes" ? <p>Lemon: this node fails many times as often as other nodes.</p> : null}
    </section>
  );
}
