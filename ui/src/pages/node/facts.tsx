// What a node is: where it stands, what runs on it, what it is made of.

import { linkTo } from "../../address";
import type { NodeDetail } from "../../contract";
import { capital, said, share } from "../../format";
import { useSeen } from "../../hooks";
import { Id } from "../../parts/marks";

/** Beside the map only what helps to decide whether to open the node. */
export function NodeFacts({ node, extent = "all" }: { node: NodeDetail; extent?: "all" | "brief" }) {
  const seen = useSeen("pods");
  return (
    <dl className="facts">
      <dt>Job</dt>
      <dd>{node.job === null ? (seen ? "none" : "not known: pods are not seen") : <Id text={node.job} href={linkTo.job(node.job)} />}</dd>
      {node.incident === null ? null : (
        <>
          <dt>Incident</dt>
          <dd>
            <Id text={node.incident} href={linkTo.incident(node.incident)} />
          </dd>
        </>
      )}
      <dt>Risk</dt>
      <dd>
        {share(node.risk.ppm)} in 7 days{node.risk.lemon === "Yes" ? ", a lemon" : ""}
      </dd>
      {extent === "brief" ? (
        <Domain level="Rack" name={node.rack} />
      ) : (
        <>
          <dt>Pool</dt>
          <dd>{node.pool}</dd>
          {Object.entries(node.domains).map(([level, name]) => (
            <Domain key={level} level={level} name={name} />
          ))}
        </>
      )}
      <dt>GPUs</dt>
      <dd>
        {node.gpus}
        {node.product === null ? "" : ` × ${node.product}`}
      </dd>
      {node.driver === null ? null : (
        <>
          <dt>Driver</dt>
          <dd>{node.driver}</dd>
        </>
      )}
    </dl>
  );
}

const LEVEL_WORD: Record<string, string> = { NvlinkDomain: "NVLink", Pdu: "PDU" };

function Domain({ level, name }: { level: string; name: string }) {
  return (
    <>
      <dt>{LEVEL_WORD[level] ?? capital(said(level))}</dt>
      <dd>{level.toLowerCase() === "rack" ? <a href={linkTo.nodes({ rack: name })}>{name}</a> : name}</dd>
    </>
  );
}
