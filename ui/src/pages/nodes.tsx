// Nodes as a list, by stage, by what they wait on, or by rack.

import { amendQuery, linkTo } from "../address";
import { STAGES, type NodeLine, type Page } from "../contract";
import { count, share } from "../format";
import { useAddress, useLive, useResource } from "../hooks";
import { Id, StageMark, When } from "../parts/marks";
import { Empty, ProblemNote, Waiting } from "../parts/notices";
import { STAGE_WORD } from "../stage";
import { WAIT_ENDS, WAIT_NOUN } from "../waiting";

const LIMIT = 200;
const NOT_IN_SERVICE = "NotInService";
const ANY = "any";

export function NodesPage() {
  const { query } = useAddress();
  const fleet = useLive((state) => state.fleet);
  const asked = new URLSearchParams({ limit: `${LIMIT}` });
  // Whoever opens the list wants those that are not calm, unless the address says otherwise.
  const stage = query["stage"] ?? (query["rack"] === undefined && query["waitingOn"] === undefined ? NOT_IN_SERVICE : ANY);
  if (stage !== ANY) asked.set("stage", stage);
  for (const key of ["waitingOn", "rack"]) if (query[key] !== undefined) asked.set(key, query[key]);
  const nodes = useResource<Page<NodeLine>>(`/nodes?${asked.toString()}`, [], 5000);
  return (
    <div className="page">
      <div className="title">
        <h1>Nodes</h1>
        {fleet === null ? null : <p className="title-text">{count(fleet.nodes)} in all</p>}
      </div>
      <div className="filters">
        <label>
          <span>Stage</span>
          <select value={stage} onChange={(event) => amendQuery({ stage: event.target.value })}>
            <option value={NOT_IN_SERVICE}>not in service</option>
            <option value={ANY}>any</option>
            {STAGES.map((stage) => (
              <option key={stage} value={stage}>
                {STAGE_WORD[stage]}
              </option>
            ))}
          </select>
        </label>
        <label>
          <span>Waits on</span>
          <select value={query["waitingOn"] ?? ""} onChange={(event) => amendQuery({ waitingOn: event.target.value })}>
            <option value="">anything or nothing</option>
            {(Object.keys(WAIT_NOUN) as (keyof typeof WAIT_NOUN)[]).map((wait) => (
              <option key={wait} value={wait}>
                {WAIT_NOUN[wait]}
              </option>
            ))}
          </select>
        </label>
        {query["rack"] === undefined ? null : (
          <span>
            in rack <b>{query["rack"]}</b>{" "}
            <button type="button" className="inline" onClick={() => amendQuery({ rack: null })}>
              any rack
            </button>
          </span>
        )}
      </div>
      <Result nodes={nodes.data} fleetNodes={fleet?.nodes ?? null} stage={stage} />
      {nodes.data === null ? nodes.problem === null ? <Waiting what="the nodes" lines={12} /> : <ProblemNote problem={nodes.problem} again={nodes.again} /> : null}
    </div>
  );
}

function Result({ nodes, fleetNodes, stage }: { nodes: Page<NodeLine> | null; fleetNodes: number | null; stage: string }) {
  if (nodes === null) return null;
  if (fleetNodes === 0) {
    return (
      <Empty title="No nodes yet.">
        <p>A node appears when its agent sends the first report. To look at a virtual fleet in the meantime:</p>
        <pre>
          <code>mainstay demo</code>
        </pre>
      </Empty>
    );
  }
  if (nodes.items.length === 0 && stage === NOT_IN_SERVICE) {
    return (
      <Empty title="Every node is in service.">
        <p>
          Those that leave service will stand here, with why. <a href={linkTo.nodes({ stage: ANY })}>Show all nodes</a>
        </p>
      </Empty>
    );
  }
  if (nodes.items.length === 0) {
    return (
      <Empty title="No node is like that.">
        <p>Choose another stage or another wait above.</p>
      </Empty>
    );
  }
  return (
    <>
      <div className="scroll" tabIndex={0} role="group" aria-label="Nodes">
        <table className="table">
          <thead>
            <tr>
              <th scope="col">Node</th>
              <th scope="col">Stage</th>
              <th scope="col">What and why</th>
              <th scope="col">Waits on</th>
              <th scope="col">Job</th>
              <th scope="col" className="number">
                Risk <span className="unit">in 7 days</span>
              </th>
              <th scope="col">Rack</th>
              <th scope="col">Since</th>
            </tr>
          </thead>
          <tbody>
            {nodes.items.map((node) => (
              <tr key={node.name}>
                <td>
                  <Id text={node.name} href={linkTo.node(node.name)} />
                </td>
                <td>
                  <StageMark stage={node.stage} />
                </td>
                <td className="wide">{node.message}</td>
                <td title={WAIT_ENDS[node.waitingOn]}>{node.waitingOn === "Nothing" ? "" : WAIT_NOUN[node.waitingOn]}</td>
                <td>{node.job === null ? "" : <a href={linkTo.job(node.job)}>{node.job}</a>}</td>
                <td className="number">{share(node.riskPpm)}</td>
                <td>
                  <a href={linkTo.nodes({ rack: node.rack })}>{node.rack}</a>
                </td>
                <td>
                  <When at={node.since} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {nodes.next == null ? null : <p className="row-text">The first {count(nodes.items.length)}. A filter above makes the list shorter.</p>}
    </>
  );
}
