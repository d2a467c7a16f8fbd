// The list of jobs, sorted by work lost.

import { linkTo } from "../address";
import type { Job, Page } from "../contract";
import { count, gpuHoursKnown } from "../format";
import { useResource, useSeen } from "../hooks";
import { Id, When } from "../parts/marks";
import { Empty, ProblemNote, Waiting } from "../parts/notices";

export function JobsPage() {
  const jobs = useResource<Page<Job>>("/jobs?limit=500", [], 5000);
  const items = [...(jobs.data?.items ?? [])].sort(
    (a, b) => (b.lostGpuSeconds ?? 0) - (a.lostGpuSeconds ?? 0) || (b.gpus ?? 0) - (a.gpus ?? 0) || b.nodes - a.nodes,
  );
  const seen = useSeen("pods");
  // A real cluster does not report lost work; empty columns are left out.
  const counts = items.some((job) => job.lostGpuSeconds !== null);
  return (
    <div className="page">
      <div className="title">
        <h1>Jobs</h1>
        {items.length === 0 ? null : <p className="title-text">{counts ? "Sorted by work lost." : "Sorted by number of nodes."}</p>}
      </div>
      {jobs.data === null ? (
        jobs.problem === null ? <Waiting what="jobs" lines={12} /> : <ProblemNote problem={jobs.problem} again={jobs.again} />
      ) : items.length === 0 ? (
        <Empty title={seen ? "No jobs are running." : "Jobs are not visible."}>
          {seen ? null : <p>The account that reads the cluster has no permission to list pods.</p>}
          <p>Pods with the same gang label, or with the same top-level owner, are shown as one job.</p>
          {seen ? null : (
            <>
              <p>To check the permission:</p>
              <pre tabIndex={0}>
                <code>kubectl auth can-i list pods --all-namespaces</code>
              </pre>
            </>
          )}
        </Empty>
      ) : (
        <div className="scroll" tabIndex={0} role="group" aria-label="Jobs">
          <table className="table">
            <thead>
              <tr>
                <th scope="col">Job</th>
                <th scope="col">State</th>
                {counts ? <th scope="col" className="number">GPUs</th> : null}
                <th scope="col" className="number">Nodes</th>
                {counts ? (
                  <>
                    <th scope="col" className="number">Attempts</th>
                    <th scope="col" className="number">
                      Work lost <span className="unit">GPU-h</span>
                    </th>
                    <th scope="col" className="number">
                      Work saved <span className="unit">GPU-h</span>
                    </th>
                  </>
                ) : null}
                <th scope="col">Last checkpoint</th>
                {counts ? <th scope="col">Started</th> : null}
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
                  {counts ? <td className="number">{job.gpus === null ? "–" : count(job.gpus)}</td> : null}
                  <td className="number">{count(job.nodes)}</td>
                  {counts ? (
                    <>
                      <td className="number">{job.attempts === null ? "–" : count(job.attempts)}</td>
                      <td className="number">{gpuHoursKnown(job.lostGpuSeconds)}</td>
                      <td className="number">{gpuHoursKnown(job.savedGpuSeconds)}</td>
                    </>
                  ) : null}
                  <td>{job.lastCheckpointAt === null ? <span className="row-text">{counts ? "none" : "not known"}</span> : <When at={job.lastCheckpointAt} />}</td>
                  {counts ? <td>{job.startedAt === null ? <span className="row-text">not yet</span> : <When at={job.startedAt} />}</td> : null}
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
