// Service level objectives: what is left of each error budget, how it burned down, and which incidents consumed it.

import { linkTo } from "../address";
import type { Page, Slo } from "../contract";
import { budgetPercent, counted, milli } from "../format";
import { useResource, useSeen } from "../hooks";
import { BurnDown } from "../parts/burn-down";
import { Figure } from "../parts/figure";
import { Id, When } from "../parts/marks";
import { Empty, ProblemNote, Waiting } from "../parts/notices";

export function SlosPage() {
  const slos = useResource<Page<Slo>>("/slos?limit=500", [], 10_000);
  const seen = useSeen("slos");
  // What needs attention comes first; an unknown budget is not a good one.
  const items = [...(slos.data?.items ?? [])].sort((a, b) => (a.budgetLeftPpm ?? -1) - (b.budgetLeftPpm ?? -1) || a.name.localeCompare(b.name));
  return (
    <div className="page">
      <div className="title">
        <h1>SLOs</h1>
        {items.length === 0 ? null : <p className="title-text">Sorted by error budget left.</p>}
      </div>
      {slos.data === null ? (
        slos.problem === null ? <Waiting what="objectives" lines={8} /> : <ProblemNote problem={slos.problem} again={slos.again} />
      ) : items.length === 0 ? (
        <Empty title={seen ? "No objectives are defined." : "Objectives are not visible."}>
          {seen ? <p>An objective is a Slo object. Its fields:</p> : <p>The account that reads the cluster has no permission to list slos. To check:</p>}
          <pre tabIndex={0}>
            <code>{seen ? "kubectl explain slo.spec" : "kubectl auth can-i list slos.mainstay.dev"}</code>
          </pre>
        </Empty>
      ) : (
        items.map((slo) => <Objective key={slo.name} slo={slo} />)
      )}
    </div>
  );
}

function Objective({ slo }: { slo: Slo }) {
  const spent = slo.budgetState === "Spent";
  return (
    <section className="panel slo" aria-labelledby={`slo-${slo.name}`} data-spent={spent}>
      <div className="section-head">
        <h2 id={`slo-${slo.name}`}>{slo.name}</h2>
        <span className="row-text">
          {slo.owner}, {slo.severity === "Page" ? "may page" : "tickets only"}, <a href={runbook(slo.runbookUrl)}>runbook</a>
        </span>
      </div>
      <p>
        {slo.objectivePpm / 10_000} % {slo.goodEvents}, over {counted(slo.windowDays, "day")}.
      </p>
      {slo.problem === null || slo.problem === undefined ? null : (
        <p className="slo-problem" role="status">
          <b>{slo.budgetLeftPpm === null ? "The error budget is not known." : "The data is old."}</b> {slo.problem}
        </p>
      )}
      {slo.budgetLeftPpm === null ? null : (
        <div className="slo-body">
          <dl className="figures">
            <Figure name="Error budget left" value={budgetPercent(slo.budgetLeftPpm)} unit={spent ? "▲ spent" : `over ${counted(slo.windowDays, "day")}`} />
            <Figure name="Bad events" value={milli(slo.badEventsMilli)} unit={`of ${milli(slo.allowedBadEventsMilli)} allowed`} />
            <Figure
              name="Burn rate, last hour"
              value={slo.burnRateMilli === null ? "–" : milli(slo.burnRateMilli)}
              unit={burnUnit(slo.burnRateMilli)}
            />
          </dl>
          <BurnDown name={slo.name} left={slo.burnDownPpm} />
          <Consumers slo={slo} />
          <p className="row-text">
            Data {slo.observedAt === null ? "not read yet" : <When at={slo.observedAt} />}
            {slo.hoursMissing === 0 ? "" : `; ${counted(slo.hoursMissing, "hour")} of the window without data`}
          </p>
        </div>
      )}
    </section>
  );
}

function Consumers({ slo }: { slo: Slo }) {
  if (slo.consumers.length === 0) return <p className="row-text">No bad events in the window.</p>;
  return (
    <div className="slo-consumers">
      <h3>Consumed during</h3>
      <ul>
        {slo.consumers.map((one) => (
          <li key={one.incident ?? ""}>
            <span className="number">{budgetPercent(one.sharePpm)}</span>{" "}
            {one.incident === null || one.incident === undefined ? "outside known incidents" : <Id text={one.incident} href={linkTo.incident(one.incident)} />}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** At a burn rate of 1 the budget lasts exactly one window. */
function burnUnit(burnRateMilli: number | null): string {
  if (burnRateMilli === null) return "no events";
  return burnRateMilli > 1000 ? "▲ too fast: at 1 the budget lasts one window" : "at 1 the budget lasts one window";
}

/** A runbook is text of a user: only web addresses become links. */
function runbook(url: string): string | undefined {
  return /^https?:\/\//.test(url) ? url : undefined;
}
