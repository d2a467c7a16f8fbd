// Every view that has a link, at the moment when the most is open.

/** Seconds after the beginning: a leaf is down, a rail is silent, a GPU is being tested, one incident is over. */
export const MOMENT = 2340;

export async function places(demo) {
  const { items } = await demo.read("/incidents?state=All");
  const leaf = items.find((incident) => incident.subject.kind === "Leaf").id;
  const over = items.find((incident) => incident.state === "Closed").id;
  return [
    "#/",
    "#/map",
    "#/map?node=r0020n02&at=r0020n02,4,0,14",
    "#/map?colour=job&job=train-7",
    "#/map?colour=temperature&show=1",
    "#/nodes",
    "#/nodes?rack=r20",
    "#/nodes/r0020n02",
    "#/nodes/nobody",
    "#/incidents?state=All",
    `#/incidents/${leaf}`,
    `#/incidents/${over}`,
    "#/jobs",
    "#/jobs/train-7",
  ];
}
