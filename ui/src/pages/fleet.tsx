// The Fleet page: how many GPUs are allocated, free and out of service, what waits for GPUs, and what is installed.

import { byModel, roomWord, shareOf, type ModelRows } from "../capacity";
import type { Capacity, GpuUse, Inventory, PoolCapacity, QueueLine } from "../contract";
import { count, counted, moment, span } from "../format";
import { useLive, useNow, useResource, useSeen } from "../hooks";
import { Empty, ProblemNote, Waiting } from "../parts/notices";
import { UseBar, UseLegend } from "../parts/use-bar";

export function FleetPage() {
  const capacity = useResource<Capacity>("/capacity", [], 5000);
  return (
    <div className="page">
      <div className="title">
        <h1>Fleet</h1>
        <p className="title-text">Allocation of GPUs, the queue for them, and installed versions.</p>
      </div>
      {capacity.data === null ? (
        capacity.problem === null ? <Waiting what="the capacity" lines={12} /> : <ProblemNote problem={capacity.problem} again={capacity.again} />
      ) : (
        <>
          <Allocation capacity={capacity.data} />
          <div className="halves">
            <Queue queues={capacity.data.queues} />
            <Installed inventory={capacity.data.inventory} />
          </div>
        </>
      )}
    </div>
  );
}

function Allocation({ capacity: { total, pools, poolsOmitted } }: { capacity: Capacity }) {
  // With one pool, the total is that pool.
  const only = pools.length === 1 ? pools[0] : undefined;
  const demo = useLive((state) => state.fleet?.demo != null);
  return (
    <section className="panel allocation" aria-labelledby="allocation">
      <div className="section-head">
        <h2 id="allocation">GPU allocation</h2>
        <span className="row-text">
          {counted(total.gpus, "GPU")} on {counted(total.nodes, "node")}
          {only === undefined ? "" : `, pool ${only.pool}`}
        </span>
      </div>
      <UseBar use={total} />
      <UseLegend use={total} />
      <Notes use={total} />
      {only === undefined ? null : <Gangs pool={only} />}
      <p className="use-note">
        Allocated means that a job holds the GPU{demo ? "" : ": a running pod requests it"}. How busy each GPU is, in percent, is not shown here: it is
        in the Grafana dashboards, which need Prometheus.
      </p>
      {only === undefined ? pools.map((pool) => <Pool key={pool.pool} pool={pool} />) : null}
      {poolsOmitted === 0 ? null : <p>and {counted(poolsOmitted, "smaller pool")}, which are part of the total</p>}
    </section>
  );
}

function Notes({ use }: { use: GpuUse }) {
  const seen = useSeen("pods");
  if (use.allocated === null) {
    return (
      <div className="use-note" role="status">
        <p>
          <b>Allocation is not known.</b>{" "}
          {seen ? "Pods have not been read yet." : "The account that reads the cluster has no permission to list pods. To check:"}
        </p>
        {seen ? null : (
          <pre className="log" tabIndex={0}>
            <code>kubectl auth can-i list pods --all-namespaces</code>
          </pre>
        )}
      </div>
    );
  }
  const still = use.outOfServiceAllocated ?? 0;
  return (
    <>
      {(use.heldBack ?? 0) === 0 ? null : (
        <p className="use-note">Held back: no job, on a node that is suspect, starting, or cordoned by another tool or an operator.</p>
      )}
      {still === 0 ? null : <p className="use-note">Out of service: jobs still hold {count(still)} of these GPUs.</p>}
    </>
  );
}

function Pool({ pool }: { pool: PoolCapacity }) {
  return (
    <div className="pool">
      <div className="section-head">
        <h3>Pool {pool.pool}</h3>
        <span className="row-text">{poolText(pool)}</span>
      </div>
      <UseBar use={pool} />
      <Gangs pool={pool} />
    </div>
  );
}

function poolText(pool: PoolCapacity): string {
  const out = pool.outOfService === 0 ? "" : `, ${count(pool.outOfService)} out of service`;
  if (pool.allocated === null) return `${counted(pool.gpus, "GPU")}${out}`;
  return `${count(pool.allocated)} of ${counted(pool.gpus, "GPU")} allocated (${shareOf(pool.allocated, pool.gpus)}), ${count(pool.free ?? 0)} free${out}`;
}

/** The largest gang that fits. Without pods it is not known, and nothing is shown. */
function Gangs({ pool }: { pool: PoolCapacity }) {
  const rooms = pool.largestGangs ?? [];
  if (rooms.length === 0) return null;
  if (rooms.every(({ gpus }) => gpus === 0)) return <p>No gang fits: no GPU of the pool is free.</p>;
  return (
    <dl className="gangs">
      <dt>Largest gang that fits</dt>
      {rooms.map((room) => (
        <dd key={room.level ?? ""}>
          <b>{counted(room.gpus, "GPU")}</b> {roomWord(room)}
        </dd>
      ))}
    </dl>
  );
}

function Queue({ queues }: { queues: QueueLine[] | null }) {
  const seen = useSeen("pods");
  const demo = useLive((state) => state.fleet?.demo != null);
  // A suspended job of a real cluster is the one thing that waits and cannot be seen.
  const suspended = demo ? "" : " A job that a queue controller keeps suspended has no pods and is not counted.";
  return (
    <section aria-labelledby="queue" className="half">
      <h2 id="queue">Waiting for GPUs</h2>
      {queues === null ? (
        <Empty title="The queue is not visible.">
          <p>{seen ? "Pods have not been read yet." : "The account that reads the cluster has no permission to list pods."}</p>
        </Empty>
      ) : queues.length === 0 ? (
        <Empty title={demo ? "No job waits for GPUs." : "No pod waits for GPUs."}>
          <p>Each queue is listed here with the GPUs that it wants and its longest wait.{suspended}</p>
        </Empty>
      ) : (
        <>
          <QueueTable queues={queues} />
          <p className="row-text">
            {demo ? "Simulated jobs without nodes." : "Pods that request GPUs and have no node."}
            {suspended}
          </p>
        </>
      )}
    </section>
  );
}

function QueueTable({ queues }: { queues: QueueLine[] }) {
  const now = useNow();
  const pods = queues.some((line) => line.pods !== null);
  return (
    <div className="scroll" tabIndex={0} role="group" aria-label="Queues">
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Queue</th>
            <th scope="col" className="number">Jobs</th>
            {pods ? <th scope="col" className="number">Pods</th> : null}
            <th scope="col" className="number">GPUs wanted</th>
            <th scope="col" className="number">Longest wait</th>
          </tr>
        </thead>
        <tbody>
          {queues.map((line) => (
            <tr key={line.queue}>
              <td>
                <code>{line.queue}</code>
              </td>
              <td className="number">{count(line.jobs)}</td>
              {pods ? <td className="number">{line.pods === null ? "–" : count(line.pods)}</td> : null}
              <td className="number">{count(line.gpus)}</td>
              <td className="number">
                <span title={`since ${moment(line.waitingSince)}`}>{span(Math.max(0, now - line.waitingSince))}</span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Installed({ inventory }: { inventory: Inventory | null }) {
  return (
    <section aria-labelledby="inventory" className="half">
      <h2 id="inventory">Installed GPUs</h2>
      {inventory === null ? (
        <Empty title="The inventory is not visible.">
          <p>Agents report it in NodeReport objects, which cannot be read. To check:</p>
          <pre tabIndex={0}>
            <code>kubectl auth can-i list nodereports.mainstay.dev</code>
          </pre>
        </Empty>
      ) : inventory.rows.length === 0 ? (
        <Empty title="No agent has reported its GPUs yet.">
          <p>Model, driver and firmware of each node come from its agent.</p>
        </Empty>
      ) : (
        <>
          <InventoryTable models={byModel(inventory.rows)} />
          <InventoryNotes inventory={inventory} />
        </>
      )}
    </section>
  );
}

function InventoryTable({ models }: { models: ModelRows[] }) {
  return (
    <div className="scroll" tabIndex={0} role="group" aria-label="Installed GPUs">
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Model</th>
            <th scope="col">Driver</th>
            <th scope="col">Firmware</th>
            <th scope="col" className="number">GPUs</th>
          </tr>
        </thead>
        {models.map(({ model, drivers, rows }) => (
          <tbody key={model ?? ""}>
            {rows.map((row, index) => (
              <tr key={`${row.driver ?? ""} ${row.firmware ?? ""}`}>
                {index === 0 ? (
                  <td rowSpan={rows.length} className="wide model">
                    {model ?? <span className="row-text">not known</span>}
                    {drivers > 1 ? <b className="mixed">▲ {counted(drivers, "driver version")}</b> : null}
                  </td>
                ) : null}
                <td>{row.driver === null ? <span className="row-text">not known</span> : <code>{row.driver}</code>}</td>
                <td>{row.firmware === null ? <span className="row-text">not reported</span> : <code>{row.firmware}</code>}</td>
                <td className="number">{count(row.gpus)}</td>
              </tr>
            ))}
          </tbody>
        ))}
      </table>
    </div>
  );
}

function InventoryNotes({ inventory }: { inventory: Inventory }) {
  return (
    <p className="row-text">
      As agents last reported.
      {inventory.omittedGpus === 0 ? "" : ` ${counted(inventory.omittedGpus, "GPU")} with rarer versions are not listed.`}
      {inventory.unlistedGpus === 0 ? "" : ` ${counted(inventory.unlistedGpus, "GPU")} are missing here: no agent lists them.`}
    </p>
  );
}
