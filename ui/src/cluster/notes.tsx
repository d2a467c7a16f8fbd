// What is to be known of a real cluster before anything on the page is believed: kinds that are not seen, and silence.

import type { ClusterSeen } from "../contract";
import { moment, roughSpan } from "../format";

/** What is missing without a kind, where that is not plain. */
const WITHOUT: Record<string, string> = {
  pods: "The work on a node is not known.",
  nodereports: "What agents report is not known.",
  gpunodes: "Records and requests of nodes are not known.",
  incidents: "Incidents are shown as they are found now; past ones are not known.",
  cells: "The mode is not known, and taken for Observe.",
  fleetpolicies: "Pools, budgets and ladders are not known.",
  fabrics: "Where nodes stand is not known.",
};

export function ClusterNotes({ cluster }: { cluster: ClusterSeen }) {
  const forbidden = cluster.unread.filter(({ why }) => why === "Forbidden").map(({ kind }) => kind);
  const unknown = cluster.unread.filter(({ why }) => why === "NotInstalled").map(({ kind }) => kind);
  if (cluster.silentSince === null && cluster.unread.length === 0) return null;
  return (
    <div className="cluster-notes" role="region" aria-label="What is not seen">
      {cluster.silentSince === null ? null : (
        <p className="alarm-text" role="status">
          <b>The API server has not been heard since {moment(cluster.silentSince)}</b> ({roughSpan(Date.now() - cluster.silentSince)}). What
          is shown is as of then.
        </p>
      )}
      {forbidden.length === 0 ? null : (
        <p>
          <b>Not seen:</b> {forbidden.join(", ")}; the account that reads may not list them. {forbidden.map((kind) => WITHOUT[kind] ?? "").join(" ")}
        </p>
      )}
      {unknown.length === 0 ? null : (
        <p>
          <b>Not installed:</b> the cluster does not know {unknown.join(", ")}. <code>mainstay render | kubectl apply -f -</code> makes it.
        </p>
      )}
    </div>
  );
}

/** In the place of a form, where the page acts for nobody. */
export function SayIt({ command }: { command: string }) {
  return (
    <p className="row-text">
      This page does not act for you. On the command line: <code>{command}</code>
    </p>
  );
}
