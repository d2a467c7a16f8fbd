// Facts about a node: job, incident, risk, location, hardware.

import { linkTo } from "../../address";
import type { NodeDetail } from "../../contract";
import { capital, kindWord, share } from "../../format";
import { useSeen } from "../../hooks";
import { Id } from "../../parts/marks";

/** All facts, or only the brief set for the panel on the map. */
export function NodeFacts({ node, extent = "all" }: { node: NodeDetail; extent?: "all" | "brief" }) {
  const seen = useSeen("pods");
  return (
    <dl className="facts">
      <dt>Job</dt>
      <dd>{node.job === null ? (seen ? "none" : "not known: no permission to list pods") : <Id text={node.job} href={linkTo.job(node.job)} />}</dd>
      {node.incident === null ? null : (
        <>
          <dt>Incident</dt>
          <dd>
            <Id text={node.incident} href={linkTo.incident(node.incident)} />
          </dd>
        </>
      )}
      <dt>Failure risk</dt>
      <dd>
        {share(node.risk.ppm)} within 7 days{node.risk.lemon === "Yes" ? ", lemon" : ""}
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

function Domain({ level, name }: { level: string; name: string }) {
  return (
    <>
      <dt>{capital(kindWord(level))}</dt>
      <dd>{level.toLowerCase() === "rack" ? <a href={linkTo.nodes({ rack: name })}>{name}</a> : name}</dd>
    </>
  );
}
