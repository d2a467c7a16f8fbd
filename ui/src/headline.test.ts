import { describe, expect, it } from "vitest";
import type { ClusterAccess, Fleet, PlanItem } from "./contract";
import { fleetNotices } from "./fleet-notices";
import { capacityGpus } from "./format";
import { headline, heldByMode } from "./headline";

const cluster: ClusterAccess = { allowedActions: [], user: null, staleSince: null, unreadable: [] };

function fleet(changes: Partial<Fleet> = {}): Fleet {
  return {
    breakers: [],
    budgets: [],
    cluster: null,
    demo: null,
    gpus: 1024,
    gpusOut: 0,
    gpusByStage: { InService: 1024 },
    incidentsOpen: 0,
    outOfServiceGpuSecondsPerHour: 0,
    lostGpuSeconds: 0,
    lostGpuSecondsLastHour: 0,
    mode: "Act",
    modeNotice: null,
    name: "demo",
    nodes: 128,
    now: 0,
    savedGpuSeconds: 0,
    ...changes,
  } as Fleet;
}

describe("the headline", () => {
  it("of a healthy fleet is that all GPUs are in service", () => {
    expect(headline(fleet())).toEqual({ tone: "healthy", sentence: "All 1,024 GPUs are in service." });
  });

  it("counts suspect GPUs apart from those out of service, and does not call capacity out of service lost", () => {
    const many = fleet({ incidentsOpen: 3, gpusByStage: { InService: 760, Suspect: 248, Repairing: 16 }, outOfServiceGpuSecondsPerHour: 264 * 3600, gpusOut: 264 });
    expect(headline(many).sentence).toBe("3 open incidents: 264 of 1,024 GPUs out of service, 248 suspect.");
    expect(capacityGpus(many.outOfServiceGpuSecondsPerHour)).toBe("264");
  });

  it("leaves out what is zero", () => {
    const one = fleet({ incidentsOpen: 1, gpus: 256, gpusByStage: { InService: 248, Suspect: 8 } });
    expect(headline(one).sentence).toBe("1 open incident: 8 of 256 GPUs suspect.");
    const none = fleet({ incidentsOpen: 1 });
    expect(headline(none).sentence).toBe("1 open incident.");
  });
});

it("actions held back by the mode are those that wait for a higher mode or an approval, and no others", () => {
  const plan = (["Nothing", "Budget", "Mode", "Approval"] as const).map((waitingOn) => ({ node: waitingOn, waitingOn }) as PlanItem);
  expect(heldByMode(plan).map(({ node }) => node)).toEqual(["Mode", "Approval"]);
});

describe("notices", () => {
  it("a demo has none, in every mode", () => expect(fleetNotices(fleet(), 0)).toEqual([]));

  it("a cluster in mode Observe that is fully visible has none", () => {
    expect(fleetNotices(fleet({ cluster, mode: "Observe" }), 0)).toEqual([]);
  });

  it("a mode without effect is reported in the words of the server", () => {
    const modeNotice = "Mode Act has no effect: the controller has no permission to act. Decisions are recorded as dry runs.";
    expect(fleetNotices({ ...fleet({ cluster, mode: "Act" }), modeNotice }, 0)).toEqual([{ key: "mode", tone: "alarm", title: modeNotice, text: "" }]);
  });

  it("a server that does not respond comes first, with since when and for how long", () => {
    const modeNotice = "Mode Act has no effect: the controller has no permission to act.";
    const [first, ...rest] = fleetNotices({ ...fleet({ cluster: { ...cluster, staleSince: 60_000 } }), modeNotice }, 240_000);
    expect(first?.title).toBe("The API server has not responded since 1970-01-01 00:01:00 UTC (3 min).");
    expect(first?.tone).toBe("alarm");
    expect(rest).toHaveLength(1);
  });

  it("kinds that cannot be read are named with the effect, and what is missing with a command", () => {
    const unread: ClusterAccess["unreadable"] = [
      { kind: "pods", why: "Forbidden" },
      { kind: "fabrics", why: "NotInstalled" },
    ];
    expect(fleetNotices(fleet({ mode: "Observe", cluster: { ...cluster, unreadable: unread } }), 0)).toEqual([
      { key: "not-permitted", tone: "note", title: "No permission to list: pods.", text: "Jobs on nodes, allocated GPUs and the queue are not visible." },
      { key: "not-installed", tone: "note", title: "Not installed: fabrics.", text: "To check the installation and see the next step:", command: "mainstay doctor" },
    ]);
  });
});
