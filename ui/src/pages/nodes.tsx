// The list of nodes, filtered by stage, by wait or by rack.

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
  // By default the list shows the nodes that are not in service.
  const stage = query["stage"] ?? (query["rack"] === undefined && query["waitingOn"] === undefined ? NOT_IN_SERVICE : ANY);
  if (stage !== ANY) asked.set("stage", stage);
  for (const key of ["waitingOn", "rack"]) if (query[key] !== undefined) asked.set(key, query[key]);
  const nodes = useResource<Page<NodeLine>>(`/nodes?${asked.toString()}`, [], 5000);
  return (
    <div className="page">
      <div className="title">
        <h1>Nodes</h1>
        {fleet === null ? null : <p className="title-text">{count(fleet.nodes)} in total</p>}
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
          <span>Waiting for</span>
          <select value={query["waitingOn"] ?? ""} onChange={(event) => amendQuery({ waitingOn: event.target.value })}>
            <option value="">any reason, or not waiting</option>
            {(Object.keys(WAIT_NOUN) as (keyof typeof WAIT_NOUN)[]).map((wait) => (
              <option key={wait} value={wait}>
                {WAIT_NOUN[wait]}
              </option>
            ))}
          </select>
        </label>
        {query["rack"] === undefined ? null : (
          <span>
            Rack <b>{query["rack"]}</b>{" "}
            <button type="button" className="inline" onClick={() => amendQuery({ rack: null })}>
              Show all racks
            </button>
          </span>
        )}
      </div>
      <Result nodes={nodes.data} fleetNodes={fleet?.nodes ?? null} stage={stage} />
      {nodes.data === null ? nodes.problem === null ? <Waiting what="nodes" lines={12} /> : <ProblemNote problem={nodes.problem} again={nodes.again} /> : null}
    </div>
  );
}

function Result({ nodes, fleetNodes, stage }: { nodes: Page<NodeLine> | null; fleetNodes: number | null; stage: string }) {
  if (nodes === null) return null;
  if (fleetNodes === 0) {
    return (
      <Empty title="No nodes yet.">
        <p>A node appears when its agent sends the first report. To check the installation:</p>
        <pre tabIndex={0}>
          <code>mainstay doctor</code>
        </pre>
        <p>To see a simulated fleet:</p>
        <pre tabIndex={0}>
          <code>mainstay demo</code>
        </pre>
      </Empty>
    );
  }
  if (nodes.items.length === 0 && stage === NOT_IN_SERVICE) {
    return (
      <Empty title="Every node is in service.">
        <p>
          Nodes that are suspect or out of service are listed here with the reason. <a href={linkTo.nodes({ stage: ANY })}>Show all nodes</a>
        </p>
      </Empty>
    );
  }
  if (nodes.items.length === 0) {
    return (
      <Empty title="No nodes match these filters.">
        <p>
          Change the filters above, or <a href={linkTo.nodes({ stage: ANY })}>show all nodes</a>.
        </p>
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
              <th scope="col">Fault and reason</th>
              <th scope="col">Waiting for</th>
              <th scope="col">Job</th>
              <th scope="col" className="number">
                Failure risk <span className="unit">7 days</span>
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
      {nodes.next == null ? null : <p className="row-text">Only the first {count(nodes.items.length)} nodes are shown. Use the filters above to narrow the list.</p>}
    </>
  );
}
