// Every view that has a link, at the time when most incidents are open.

/** The node name of a page without a node. */
export const MISSING = "no-such-node";

/** Seconds after the start: a leaf is down, a rail passes no traffic, a GPU is being tested, one incident is closed. */
export const MOMENT = 2340;

export async function places(demo) {
  const { items } = await demo.read("/incidents?state=All");
  const leaf = items.find((incident) => incident.subject.kind === "Leaf").id;
  const over = items.find((incident) => incident.state === "Closed").id;
  return [
    "#/",
    "#/map",
    "#/map?node=r0010n01&at=r0010n01,4,0,14",
    "#/map?colour=job&job=train-7",
    "#/map?colour=temperature&show=1",
    "#/fleet",
    "#/nodes",
    "#/nodes?rack=r20",
    "#/nodes/r0010n01",
    `#/nodes/${MISSING}`,
    "#/incidents?state=All",
    `#/incidents/${leaf}`,
    `#/incidents/${over}`,
    "#/jobs",
    "#/jobs/train-7",
    "#/slos",
    "#/runbooks",
    "#/runbooks/thermal",
    "#/runbooks/no-such-runbook",
  ];
}
