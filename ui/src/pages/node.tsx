// One node: where it is in its life, why, what was seen, what was tried, and what a person may ask of it.

import { linkTo } from "../address";
import type { Evidence, NodeDetail } from "../contract";
import { count, share } from "../format";
import { useResource } from "../hooks";
import { Id, StageMark, Until, When } from "../parts/marks";
import { Empty, NotThere, Waiting } from "../parts/notices";
import { NodeFacts } from "./node/facts";
import { GpuStrip, GpuTable } from "./node/gpus";
import { RequestForm } from "./node/request";
import { StageTimeline } from "./node/stages";
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
            In this stage since <When at={node.since} />
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
            <h2 id="stages">Stages</h2>
            <StageTimeline timeline={node.timeline} />
          </section>
          <section aria-labelledby="evidence">
            <h2 id="evidence">Evidence</h2>
            <EvidenceTable evidence={node.evidence} gpus={node.gpusList} />
          </section>
          <section aria-labelledby="gpus">
            <h2 id="gpus">GPUs by serial</h2>
            <GpuTable node={node} />
          </section>
          <Tried node={node} />
        </div>
        <aside className="column-side" aria-label="About the node">
          <section className="panel">
            <h2>The node</h2>
            <GpuStrip node={node} />
            <NodeFacts node={node} />
          </section>
          <section className="panel">
            <h2>Request</h2>
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
              <dt>Boot</dt>
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
      <Empty title="Nothing has been seen.">
        <p>Kernel lines, counters and readings of this node that mean something will be counted here.</p>
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
              Times
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

function Tried({ node }: { node: NodeDetail }) {
  if (node.attempts.length === 0 && node.orders.length === 0) return null;
  return (
    <section aria-labelledby="tried">
      <h2 id="tried">Tried and ordered</h2>
      <ul className="lines decisions tried">
        {node.orders.map((order) => (
          <li key={order.id}>
            <span>under way</span>
            <span>{order.task}</span>
            <span>
              <code>{order.id}</code>, expires at <Until at={order.expiresAt} />
            </span>
          </li>
        ))}
        {node.attempts.map((attempt) => (
          <li key={`${attempt.at} ${attempt.rung}`}>
            <When at={attempt.at} />
            <span>{attempt.rung}</span>
            <span>
              <code>{attempt.rule}</code>
              {attempt.device === null ? "" : ` on ${attempt.device}`}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function RiskPanel({ risk }: { risk: NodeDetail["risk"] }) {
  const most = Math.max(1, ...risk.parts.map((part) => part.ppm));
  return (
    <section className="panel">
      <div className="section-head">
        <h2>Risk</h2>
        <span>{share(risk.ppm)} in 7 days</span>
      </div>
      {risk.parts.length === 0 ? (
        <p>Nothing in its record raises it.</p>
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
      {risk.lemon === "Yes" ? <p>A lemon: it fails many times as often as others.</p> : null}
    </section>
  );
}
