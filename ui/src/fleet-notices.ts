// Notices at the top of every page: everything that a reader must know before trusting the page. Pure.
//
// To add a notice from a new field of the fleet, add one entry to the list in `fleetNotices`.

import type { ClusterAccess, Fleet } from "./contract";
import { moment, roughSpan } from "./format";

export interface Notice {
  /** The same for the same notice, so that the page updates it in place. */
  key: string;
  /** An alarm means that the page may be wrong or out of date; a note explains a limit. */
  tone: "alarm" | "note";
  title: string;
  text: string;
  /** A command that helps, shown after the text. */
  command?: string;
}

/** All notices for a fleet, the most important first. `wallClock` is the time of this machine in milliseconds. */
export function fleetNotices(fleet: Fleet, wallClock: number): Notice[] {
  const { cluster } = fleet;
  const ofCluster = cluster === null ? [] : [notPermitted(cluster), notInstalled(cluster)];
  const notices = [cluster === null ? null : notResponding(cluster, wallClock), modeWithoutEffect(fleet), ...ofCluster];
  return notices.filter((notice) => notice !== null);
}

function notResponding({ staleSince }: ClusterAccess, wallClock: number): Notice | null {
  if (staleSince === null) return null;
  return {
    key: "not-responding",
    tone: "alarm",
    title: `The API server has not responded since ${moment(staleSince)} (${roughSpan(wallClock - staleSince)}).`,
    text: "The page shows the state at that time.",
  };
}

/** The server's sentence about a mode that is set and has no effect. */
function modeWithoutEffect({ modeNotice }: Fleet): Notice | null {
  return modeNotice === null ? null : { key: "mode", tone: "alarm", title: modeNotice, text: "" };
}

/** What the page cannot show without a kind. */
const WITHOUT: Record<string, string> = {
  pods: "Jobs on nodes, allocated GPUs and the queue are not visible.",
  nodereports: "Agent reports are not visible.",
  checkpointrequests: "Whether jobs were asked to save is not visible.",
  gpunodes: "Node status and operator requests are not visible.",
  incidents: "Only current incidents are shown, no past ones.",
  cells: "The mode is not visible; the page assumes Observe.",
  fleetpolicies: "Pools, budgets and repair plans are not visible.",
  fabrics: "Node topology is unavailable.",
};

function notPermitted(cluster: ClusterAccess): Notice | null {
  const kinds = cluster.unreadable.filter(({ why }) => why === "Forbidden").map(({ kind }) => kind);
  if (kinds.length === 0) return null;
  return {
    key: "not-permitted",
    tone: "note",
    title: `No permission to list: ${kinds.join(", ")}.`,
    text: kinds.flatMap((kind) => WITHOUT[kind] ?? []).join(" "),
  };
}

function notInstalled(cluster: ClusterAccess): Notice | null {
  const kinds = cluster.unreadable.filter(({ why }) => why === "NotInstalled").map(({ kind }) => kind);
  if (kinds.length === 0) return null;
  return {
    key: "not-installed",
    tone: "note",
    title: `Not installed: ${kinds.join(", ")}.`,
    text: "To check the installation and see the next step:",
    command: "mainstay doctor",
  };
}
