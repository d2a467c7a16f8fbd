// One job: placement, attempts, checkpoints and interruptions. It answers "why is my job waiting?".

import { linkTo } from "../address";
import type { JobDetail } from "../contract";
import { count, counted, gpuHours, moment, span } from "../format";
import { useLive, useNow, useResource } from "../hooks";
import { gangOf, packing } from "../map/gang";
import { SubjectMap } from "../map/subject";
import { Chart } from "../parts/chart";
import { CostFigure, Figure } from "../parts/figure";
import { Id, When } from "../parts/marks";
import { Empty, NotThere, Waiting } from "../parts/notices";
import { JobState } from "./jobs";

export function JobPage({ id }: { id: string }) {
  const { data: job, problem, again } = useResource<JobDetail>(`/jobs/${encodeURIComponent(id)}`, ["*"], 3000);
  if (job === null) {
    return <div className="page">{problem === null ? <Waiting what={id} lines={10} /> : <NotThere name={id} problem={problem} again={again} />}</div>;
  }
  return <Shown job={job} />;
}

function Shown({ job }: { job: JobDetail }) {
  const now = useNow();
  const map = useLive((state) => state.map);
  const gang = map === null ? null : gangOf(map, job.id);
  const last = job.lastCheckpointAt;
  // For a real cluster only the placement of a job is known.
  const detailed = job.attempts !== null;
  return (
    <div className="page">
      <div className="title">
        <div>
          <p className="overline">
            Job <JobState state={job.state} />
          </p>
          <h1>
            <Id text={job.name} />
          </h1>
        </div>
        <a href={linkTo.map({ colour: "job", job: job.id })}>Show on the map</a>
      </div>
      <p className="lead">{sentence(job, now)}</p>
      <dl className="figures">
        {job.gpus === null ? (
          <Figure name="Size" value={count(job.nodes)} unit={job.nodes === 1 ? "node" : "nodes"} />
        ) : (
          <Figure name="Size" value={count(job.gpus)} unit={`GPUs on ${counted(job.nodes, "node")}`} />
        )}
        <Figure name="Last checkpoint" value={last === null ? (detailed ? "none" : "not known") : span(now - last)} unit={last === null ? "" : "ago"} />
        {job.attempts === null ? null : <Figure name="Attempts" value={count(job.attempts)} unit="" />}
        <CostFigure name="Work lost" gpuSeconds={job.lostGpuSeconds} />
        <CostFigure name="Saved by checkpoint requests" gpuSeconds={job.savedGpuSeconds} />
      </dl>
      <div className="columns">
        <div className="column-main">
          {detailed ? (
            <History job={job} />
          ) : (
            <Empty title="Only placement is available for this job.">
              <p>Attempts, steps, interruptions and their cost are not available for a real cluster yet.</p>
            </Empty>
          )}
        </div>
        <aside className="column-side" aria-label="Job placement">
          <section className="panel">
            <h2>Placement</h2>
            <SubjectMap nodes={job.nodesList} label={`Map of ${job.name}`} job={job.id} />
            {gang === null || gang.nodes.size === 0 ? <p>The job is on no node now.</p> : <p>{counted(gang.nodes.size, "node")}, {packing(gang)}.</p>}
            <p className="list">
              {job.nodesList.slice(0, 16).map((node) => (
                <a key={node} href={linkTo.node(node)}>
                  {node}
                </a>
              ))}
              {job.nodesList.length > 16 ? <span className="row-text">and {count(job.nodesList.length - 16)} more</span> : null}
            </p>
          </section>
        </aside>
      </div>
    </div>
  );
}

function History({ job }: { job: JobDetail }) {
  return (
    <>
      <section aria-labelledby="checkpoints">
        <h2 id="checkpoints">Checkpoints</h2>
        <Checkpoints job={job} />
      </section>
      <section aria-labelledby="interruptions">
        <h2 id="interruptions">Interruptions</h2>
        {job.interruptions.length === 0 ? (
          <Empty title="No interruptions.">
            <p>Before Mainstay removes a node of this job, it requests a checkpoint. Each interruption is listed here with the work lost.</p>
          </Empty>
        ) : (
          <ul className="lines interruptions">
            {job.interruptions.map((item) => (
              <li key={`${item.at} ${item.text}`}>
                <When at={item.at} />
                <span>
                  {item.text} {item.incident === null ? null : <a href={linkTo.incident(item.incident)}>{item.incident}</a>}
                </span>
                <span className="number">{gpuHours(item.lostGpuSeconds)} GPU-h</span>
              </li>
            ))}
          </ul>
        )}
      </section>
      <section aria-labelledby="attempts">
        <h2 id="attempts">Attempts</h2>
        <Attempts job={job} />
      </section>
    </>
  );
}

/** The state of the job, its age and its last interruption. */
function sentence(job: JobDetail, now: number): string {
  const last = [...job.interruptions].sort((a, b) => b.at - a.at)[0];
  const since = job.startedAt === null ? "" : ` It started ${span(now - job.startedAt)} ago.`;
  const state = {
    Waiting: "The job is waiting for nodes.",
    Running: `The job is running on ${counted(job.nodes, "node")}.`,
    Saving: "The job is writing a checkpoint that Mainstay requested.",
    Done: "The job has finished.",
  }[job.state];
  return `${state}${since}${last === undefined ? (job.attempts === null ? "" : " It has not been interrupted.") : ` Last interruption: ${last.text}`}`;
}

function Checkpoints({ job }: { job: JobDetail }) {
  const points = [...job.checkpoints].sort((a, b) => a.at - b.at);
  const last = points.at(-1);
  if (last === undefined) {
    return (
      <Empty title="No checkpoints yet.">
        <p>Each saved step is shown here. A job without a checkpoint loses all its work when it is stopped.</p>
      </Empty>
    );
  }
  const series = {
    label: "step",
    from: "lowest" as const,
    at: points.map((point) => point.at),
    values: points.map((point) => point.step),
    events: job.interruptions.map((item) => ({ at: item.at, text: item.text })),
  };
  return (
    <>
      <p>
        {counted(points.length, "checkpoint")}. The last one, at step <b>{count(last.step)}</b>, was saved <When at={last.at} />.
        {job.interruptions.length === 0 ? "" : " Dashed lines mark interruptions."}
      </p>
      <Chart series={series} height={200} describe={`Steps saved over time, up to step ${count(last.step)}`} />
    </>
  );
}

function Attempts({ job }: { job: JobDetail }) {
  return (
    <div className="scroll" tabIndex={0} role="group" aria-label="Attempts">
      <table className="table">
        <thead>
          <tr>
            <th scope="col" className="number">Attempt</th>
            <th scope="col">Started</th>
            <th scope="col">Ran for</th>
            <th scope="col" className="number">Nodes</th>
            <th scope="col" className="number">
              Work lost <span className="unit">GPU-h</span>
            </th>
            <th scope="col">Ended</th>
          </tr>
        </thead>
        <tbody>
          {job.attemptsList.map((attempt, index) => (
            <tr key={attempt.startedAt}>
              <td className="number">{index + 1}</td>
              <td>
                <When at={attempt.startedAt} />
              </td>
              <td>{attempt.endedAt === null ? "still running" : <span title={moment(attempt.endedAt)}>{span(attempt.endedAt - attempt.startedAt)}</span>}</td>
              <td className="number">{count(attempt.nodes)}</td>
              <td className="number">{gpuHours(attempt.lostGpuSeconds)}</td>
              <td className="wide">{attempt.ended ?? ""}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
