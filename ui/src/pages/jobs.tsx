// Jobs as a list, those that lost most first.

import { linkTo } from "../address";
import type { Job, Page } from "../contract";
import { count, gpuHours } from "../format";
import { useResource } from "../hooks";
import { Id, When } from "../parts/marks";
import { Empty, ProblemNote, Waiting } from "../parts/notices";

export function JobsPage() {
  const jobs = useResource<Page<Job>>("/jobs?limit=500", [], 5000);
  const items = [...(jobs.data?.items ?? [])].sort((a, b) => b.lostGpuSeconds - a.lostGpuSeconds || b.gpus - a.gpus);
  return (
    <div className="page">
      <div className="title">
        <h1>Jobs</h1>
        <p className="title-text">Those that lost most come first.</p>
      </div>
      {jobs.data === null ? (
        jobs.problem === null ? <Waiting what="the jobs" lines={12} /> : <ProblemNote problem={jobs.problem} again={jobs.again} />
      ) : items.length === 0 ? (
        <Empty title="No job runs.">
          <p>Pods that carry the same gang label, or have the same topmost owner, appear here as one job.</p>
        </Empty>
      ) : (
        <div className="scroll" tabIndex={0} role="group" aria-label="Jobs">
          <table className="table">
            <thead>
              <tr>
                <th scope="col">Job</th>
                <th scope="col">State</th>
                <th scope="col" className="number">GPUs</th>
                <th scope="col" className="number">Nodes</th>
                <th scope="col" className="number">Attempts</th>
                <th scope="col" className="number">
                  Lost <span className="unit">GPU-h</span>
                </th>
                <th scope="col" className="number">
                  Saved <span className="unit">GPU-h</span>
                </th>
                <th scope="col">Last checkpoint</th>
                <th scope="col">Started</th>
              </tr>
            </thead>
            <tbody>
              {items.map((job) => (
                <tr key={job.id}>
                  <td>
                    <Id text={job.name} href={linkTo.job(job.id)} />
                  </td>
                  <td>
                    <JobState state={job.state} />
                  </td>
                  <td className="number">{count(job.gpus)}</td>
                  <td className="number">{count(job.nodes)}</td>
                  <td className="number">{count(job.attempts)}</td>
                  <td className="number">{gpuHours(job.lostGpuSeconds)}</td>
                  <td className="number">{gpuHours(job.savedGpuSeconds)}</td>
                  <td>{job.lastCheckpointAt === null ? <span className="row-text">none</span> : <When at={job.lastCheckpointAt} />}</td>
                  <td>{job.startedAt === null ? <span className="row-text">not yet</span> : <When at={job.startedAt} />}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </div>
  );
}

export function JobState({ state }: { state: Job["state"] }) {
  return (
    <span className="job-state" data-state={state}>
      {state}
    </span>
  );
}
