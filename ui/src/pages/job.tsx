// One job: where it runs, its attempts, its checkpoints, and what interrupted it. It answers "why is my job waiting?".

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
  // A cluster tells where a job runs, and little of what it does there.
  const told = job.attempts !== null;
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
        <a href={linkTo.map({ colour: "job", job: job.id })}>Trace on the map</a>
      </div>
      <p className="lead">{sentence(job, now)}</p>
      <dl className="figures">
        {job.gpus === null ? (
          <Figure name="Size" value={count(job.nodes)} unit={job.nodes === 1 ? "node" : "nodes"} />
        ) : (
          <Figure name="Size" value={count(job.gpus)} unit={`GPUs on ${counted(job.nodes, "node")}`} />
        )}
        <Figure name="Last checkpoint" value={last === null ? (told ? "none" : "not known") : span(now - last)} unit={last === null ? "" : "ago"} />
        {job.attempts === null ? null : <Figure name="Attempts" value={count(job.attempts)} unit="" />}
        <CostFigure name="Lost" gpuSeconds={job.lostGpuSeconds} />
        <CostFigure name="Saved by asking first" gpuSeconds={job.savedGpuSeconds} />
      </dl>
      <div className="columns">
        <div className="column-main">
          {told ? (
            <History job={job} />
          ) : (
            <Empty title="Where it runs is known, and no more.">
              <p>Attempts, steps, interruptions and what they cost are not known here: a cluster does not tell them.</p>
            </Empty>
          )}
        </div>
        <aside className="column-side" aria-label="About the job">
          <section className="panel">
            <h2>Where it runs</h2>
            <SubjectMap nodes={job.nodesList} label={`${job.name} on the map`} job={job.id} />
            {gang === null || gang.nodes.size === 0 ? <p>It holds no node now.</p> : <p>{counted(gang.nodes.size, "node")}, {packing(gang)}.</p>}
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
          <Empty title="Nothing has interrupted it.">
            <p>When a node of its gang has to leave, it is asked to save first. That will stand here, with what it cost.</p>
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

/** State, since when, and the last thing that happened to it. */
function sentence(job: JobDetail, now: number): string {
  const last = [...job.interruptions].sort((a, b) => b.at - a.at)[0];
  const since = job.startedAt === null ? "" : ` It started ${span(now - job.startedAt)} ago.`;
  const state = {
    Waiting: "It waits for nodes.",
    Running: `It runs on ${counted(job.nodes, "node")}.`,
    Saving: "It was asked to save and is writing a checkpoint.",
    Done: "It is done.",
  }[job.state];
  return `${state}${since}${last === undefined ? (job.attempts === null ? "" : " Nothing has interrupted it.") : ` Last interruption: ${last.text}`}`;
}

function Checkpoints({ job }: { job: JobDetail }) {
  const points = [...job.checkpoints].sort((a, b) => a.at - b.at);
  const last = points.at(-1);
  if (last === undefined) {
    return (
      <Empty title="It has saved nothing yet.">
        <p>A job that answers checkpoint requests shows its steps here; one that does not loses everything when it is stopped.</p>
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
        {counted(points.length, "checkpoint")} kept, the last at step <b>{count(last.step)}</b>, <When at={last.at} />.
        {job.interruptions.length === 0 ? "" : " Dashed lines are interruptions."}
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
              Lost <span className="unit">GPU-h</span>
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
