// One incident, ready for a postmortem: a sentence, the suspected cause on a small map, one timeline with the time between
// events, work lost and saved, the budget, the log lines.

import { useState } from "react";
import { linkTo } from "../address";
import { Problem, get, send } from "../api";
import type { IncidentDetail, Postmortem } from "../contract";
import { capital, count, counted, kindWord, span } from "../format";
import { useActor, useNow, useResource, useSettings } from "../hooks";
import { SubjectMap } from "../map/subject";
import { CommandHint } from "../parts/command";
import { CapacityFigure, CostFigure, Figure } from "../parts/figure";
import { Id, When } from "../parts/marks";
import { NotThere, ProblemNote, Waiting } from "../parts/notices";
import { choose } from "../settings";
import { IncidentTimeline } from "./incident/timeline";

const NODES_SHOWN = 24;

export function IncidentPage({ id }: { id: string }) {
  const { data: incident, problem, again } = useResource<IncidentDetail>(`/incidents/${encodeURIComponent(id)}`, [id]);
  const now = useNow();
  if (incident === null) {
    return <div className="page">{problem === null ? <Waiting what={id} lines={10} /> : <NotThere name={id} problem={problem} again={again} />}</div>;
  }
  const lasted = (incident.closedAt ?? now) - incident.openedAt;
  return (
    <div className="page">
      <div className="title">
        <div>
          <p className="overline">
            Incident <Id text={incident.id} /> <span className="incident-state" data-state={incident.state}>{incident.state}</span>
          </p>
          <h1>{incident.title}</h1>
        </div>
        <CopyPostmortem incident={incident} />
      </div>
      <p className="lead">{incident.sentence}</p>
      <dl className="figures">
        <Figure name={incident.state === "Open" ? "Open for" : "Lasted"} value={span(lasted)} unit="" />
        <Figure name="Affected" value={count(incident.gpus)} unit={`GPUs on ${counted(incident.nodes, "node")}`} />
        {incident.state === "Open" && (incident.lostGpuSeconds !== null || incident.outOfServiceGpuSecondsPerHour > 0) ? <CapacityFigure rate={incident.outOfServiceGpuSecondsPerHour} /> : null}
        <CostFigure name="Work lost" gpuSeconds={incident.lostGpuSeconds} />
        <CostFigure name="Saved by checkpoint requests" gpuSeconds={incident.savedGpuSeconds} />
      </dl>
      <div className="columns">
        <div className="column-main">
          <section aria-labelledby="timeline">
            <h2 id="timeline">Timeline</h2>
            <IncidentTimeline events={incident.timeline} />
          </section>
          <section aria-labelledby="lines">
            <h2 id="lines">Log lines</h2>
            {incident.lines === null ? (
              <p className="row-text">
                The log lines stay on the node. Run <code>mainstay-agent scan</code> there to read them again, or{" "}
                <code>mainstay-agent bundle</code> to collect them.
              </p>
            ) : incident.lines.length === 0 ? (
              <p className="row-text">No log lines: the evidence came from sensor readings.</p>
            ) : (
              <pre className="log" tabIndex={0} aria-label="Log lines">
                {incident.lines.join("\n")}
              </pre>
            )}
          </section>
        </div>
        <aside className="column-side" aria-label="Incident details">
          <section className="panel">
            <h2>Suspected cause</h2>
            <p>
              {capital(kindWord(incident.subject.kind))} <b>{incident.subject.name}</b>
            </p>
            <p className="row-text">{incident.explanation}</p>
            <SubjectMap nodes={incident.nodesList} label={`Map of ${incident.subject.name}`} />
            <dl className="facts">
              <dt>Rule</dt>
              <dd>
                <code>{incident.rule}</code>
              </dd>
              {incident.runbook === null ? null : (
                <>
                  <dt>Runbook</dt>
                  <dd>
                    <a href={linkTo.runbook(incident.runbook)}>{incident.runbook}</a>
                  </dd>
                </>
              )}
              <dt>Opened</dt>
              <dd>
                <When at={incident.openedAt} />
              </dd>
              {incident.jobs.length === 0 ? null : (
                <>
                  <dt>Jobs</dt>
                  <dd className="list">
                    {incident.jobs.slice(0, NODES_SHOWN).map((job) => (
                      <a key={job} href={linkTo.job(job)}>
                        {job}
                      </a>
                    ))}
                  </dd>
                </>
              )}
              <dt>Nodes</dt>
              <dd className="list">
                {incident.nodesList.slice(0, NODES_SHOWN).map((node) => (
                  <a key={node} href={linkTo.node(node)}>
                    {node}
                  </a>
                ))}
                {incident.nodesList.length > NODES_SHOWN ? <span className="row-text">and {count(incident.nodesList.length - NODES_SHOWN)} more</span> : null}
              </dd>
            </dl>
          </section>
          <section className="panel">
            <h2>Disruption budgets</h2>
            <p>{incident.budget}</p>
            <h2>In another mode</h2>
            <p>{incident.otherMode}</p>
          </section>
          <Acknowledge incident={incident} done={again} />
        </aside>
      </div>
    </div>
  );
}

function Acknowledge({ incident, done }: { incident: IncidentDetail; done: () => void }) {
  const { person } = useSettings();
  const actor = useActor("Acknowledge");
  const [problem, setProblem] = useState<Problem | null>(null);
  if (incident.acknowledgedBy !== null) {
    return (
      <section className="panel">
        <h2>Acknowledged</h2>
        <p>{incident.acknowledgedBy} is working on this incident.</p>
      </section>
    );
  }
  if (incident.state === "Closed") return null;
  if (actor.as === "readOnly") {
    return (
      <section className="panel">
        <h2>Acknowledge</h2>
        <CommandHint command={`mainstay incident ack ${incident.id}`} />
      </section>
    );
  }
  const acknowledge = async () => {
    try {
      await send("POST", `/incidents/${encodeURIComponent(incident.id)}/acknowledge`, { by: actor.as === "caller" ? actor.person : person });
      setProblem(null);
      done();
    } catch (cause) {
      if (cause instanceof Problem) setProblem(cause);
    }
  };
  return (
    <section className="panel">
      <h2>Acknowledge</h2>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          void acknowledge();
        }}
      >
        {actor.as === "caller" ? null : (
          <label>
            <span>Your name</span>
            <input required value={person} onChange={(event) => choose({ person: event.target.value })} autoComplete="username" />
          </label>
        )}
        {problem === null ? null : <ProblemNote problem={problem} />}
        <div className="form-end">
          <span className="form-note">Shows other operators that {actor.as === "caller" ? actor.person : "you"} {actor.as === "caller" ? "is" : "are"} working on it.</span>
          <button type="submit" className="main">
            Acknowledge
          </button>
        </div>
      </form>
    </section>
  );
}

function CopyPostmortem({ incident }: { incident: IncidentDetail }) {
  const [label, setLabel] = useState("Copy as Markdown");
  const copy = async () => {
    try {
      const { markdown } = await get<Postmortem>(`/incidents/${encodeURIComponent(incident.id)}/postmortem`);
      await navigator.clipboard.writeText(markdown);
      setLabel("Copied");
    } catch {
      setLabel("Not copied");
    }
    setTimeout(() => setLabel("Copy as Markdown"), 2000);
  };
  return (
    <button type="button" className="copy-page" onClick={() => void copy()}>
      {label}
    </button>
  );
}
