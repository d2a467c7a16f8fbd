// The Now page, in the order of an on-call engineer's questions: what is wrong, how bad, what is being done, must I act.

import { linkTo } from "../address";
import type { Decision, Fleet, Incident, Need, Page, PlanItem } from "../contract";
import { capital, count } from "../format";
import { gather } from "../gather";
import { byLossRate, headline, heldByMode } from "../headline";
import { useLive, useResource } from "../hooks";
import { CapacityFigure, CostFigure } from "../parts/figure";
import { Id, Others, When } from "../parts/marks";
import { Empty, ProblemNote, Waiting } from "../parts/notices";
import { OutChart } from "../parts/chart";
import { IncidentTable } from "../parts/incident-table";
import { Overview } from "../map/subject";
import { ModePanel } from "./now/mode";
import { BudgetPanel, BreakerPanel } from "./now/limits";
import { ScriptPanel } from "./now/script";
import { PriceNote } from "./now/price";

const INCIDENTS_SHOWN = 20;
const DECISIONS_SHOWN = 12;
const HELD_SHOWN = 6;
const NEEDS_SHOWN = 4;
/** Equal decisions for several nodes within this time are one line. */
const TOGETHER_MS = 60_000;

export function NowPage() {
  const fleet = useLive((state) => state.fleet);
  const incidents = useLive((state) => state.incidents);
  const problem = useLive((state) => state.problem);
  if (fleet === null) return problem === null ? <Waiting what="the fleet" lines={8} /> : <ProblemNote problem={problem} />;
  if (fleet.nodes === 0) return <NoNodes fleet={fleet} />;
  return (
    <div className="page now">
      <Answer fleet={fleet} />
      <div className="columns">
        <div className="column-main">
          <Incidents incidents={incidents} open={fleet.incidentsOpen} demo={fleet.demo !== null} />
          <Doing />
          <section aria-labelledby="out">
            <div className="section-head">
              <h2 id="out">GPUs suspect or out of service</h2>
              <a href={linkTo.fleet()}>Allocation and queue</a>
            </div>
            <OutChart />
          </section>
        </div>
        <aside className="column-side" aria-label="Mode and limits">
          {/* Open breakers come first in this column. */}
          {fleet.breakers.length === 0 ? null : <BreakerPanel breakers={fleet.breakers} />}
          {fleet.demo === null || fleet.demo.script.length === 0 ? null : <ScriptPanel demo={fleet.demo} now={fleet.now} />}
          <ModePanel mode={fleet.mode} />
          <BudgetPanel budgets={fleet.budgets} />
          {fleet.breakers.length === 0 ? <BreakerPanel breakers={[]} /> : null}
        </aside>
      </div>
    </div>
  );
}

function Answer({ fleet }: { fleet: Fleet }) {
  const { tone, sentence } = headline(fleet);
  return (
    <section className="answer" data-tone={tone} aria-label="Fleet status">
      <div className="answer-words">
      <h1>{sentence}</h1>
      <Needs needs={fleet.needs} />
      {fleet.lostGpuSeconds === null && fleet.outOfServiceGpuSecondsPerHour === 0 ? null : (
        <dl className="figures">
          <CapacityFigure rate={fleet.outOfServiceGpuSecondsPerHour} />
          <CostFigure name="Work lost, last hour" gpuSeconds={fleet.lostGpuSecondsLastHour} />
          <CostFigure name="Work lost, total" gpuSeconds={fleet.lostGpuSeconds} />
          <CostFigure name="Saved by checkpoint requests" gpuSeconds={fleet.savedGpuSeconds} />
        </dl>
      )}
      {fleet.lostGpuSeconds === null ? <p className="row-text">Lost and saved GPU-hours are not available for a real cluster yet.</p> : null}
      {fleet.lostGpuSeconds === null && fleet.outOfServiceGpuSecondsPerHour === 0 ? null : <PriceNote />}
      </div>
      <Overview />
    </section>
  );
}

/** What needs an operator: the server's list, the same as in `mainstay status`. */
function Needs({ needs }: { needs: Need[] }) {
  if (needs.length === 0) return <p className="answer-act">No action needed.</p>;
  return (
    <div className="answer-act">
      <p>Operator action needed:</p>
      <ul className="needs">
        {needs.slice(0, NEEDS_SHOWN).map((need) => {
          const href = needHref(need);
          return <li key={need.what}>{href === null ? need.what : <a href={href}>{need.what}</a>}</li>;
        })}
        {needs.length > NEEDS_SHOWN ? <li>and {count(needs.length - NEEDS_SHOWN)} more</li> : null}
      </ul>
    </div>
  );
}

function needHref(need: Need): string | null {
  if (need.subject === null) return null;
  if (need.kind === "Incident") return linkTo.incident(need.subject);
  return need.kind === "Node" ? linkTo.node(need.subject) : null;
}

function Incidents({ incidents, open, demo }: { incidents: Incident[] | null; open: number; demo: boolean }) {
  return (
    <section aria-labelledby="open-incidents">
      <div className="section-head">
        <h2 id="open-incidents">Open incidents, largest first</h2>
        <a href={linkTo.incidents({ state: "All" })}>All incidents</a>
      </div>
      {incidents === null ? (
        <Waiting what="the incidents" />
      ) : incidents.length === 0 ? (
        <Empty title="No open incidents.">
          <p>
            An incident opens when evidence from a node, a rack or a leaf matches a rule. Each one is listed here with its cost, its
            state and the next step.
          </p>
          {demo ? <p>To see one now, select <b>Inject a fault</b> in the bar above.</p> : null}
        </Empty>
      ) : (
        <>
          <IncidentTable incidents={byLossRate(incidents).slice(0, INCIDENTS_SHOWN)} />
          {open > INCIDENTS_SHOWN ? (
            <p className="row-text">
              and {count(open - INCIDENTS_SHOWN)} more: <a href={linkTo.incidents()}>show all open incidents</a>
            </p>
          ) : null}
        </>
      )}
    </section>
  );
}

function Doing() {
  const decisions = useResource<Page<Decision>>("/decisions?limit=200", ["*"], 5000);
  const plan = useResource<Page<PlanItem>>("/plan", ["*"], 5000);
  const held = heldByMode(plan.data?.items ?? []);
  return (
    <>
      {held.length === 0 ? null : (
        <section aria-labelledby="held-back">
          <h2 id="held-back">Waiting for approval or a higher mode</h2>
          <ul className="lines">
            {held.slice(0, HELD_SHOWN).map((item) => (
              <li key={`${item.node} ${item.action}`}>
                <Id text={item.node} href={linkTo.node(item.node)} />
                <span>
                  {capital(item.action)}. <span className="row-text">{item.why}</span>
                </span>
              </li>
            ))}
          </ul>
          {held.length > HELD_SHOWN ? <p className="row-text">and {count(held.length - HELD_SHOWN)} more</p> : null}
        </section>
      )}
      <section aria-labelledby="decisions">
        <h2 id="decisions">Latest decisions</h2>
        {decisions.data === null ? (
          decisions.problem === null ? <Waiting what="the decisions" lines={6} /> : <ProblemNote problem={decisions.problem} again={decisions.again} />
        ) : decisions.data.items.length === 0 ? (
          <Empty title="No decisions yet.">
            <p>Every decision is listed here, including dry-run decisions that are recorded and not executed.</p>
          </Empty>
        ) : (
          <ul className="lines decisions">
            {gather(decisions.data.items, ({ action, rule, execution }) => `${action} ${rule ?? ""} ${execution}`, TOGETHER_MS).slice(0, DECISIONS_SHOWN).map(({ item: decision, others }, index) => (
              <li key={`${decision.at} ${decision.node} ${decision.action} ${index}`}>
                <When at={decision.at} />
                <Id text={decision.node} href={linkTo.node(decision.node)} />
                <span>
                  <Others names={others} />
                  {others.length === 0 ? decision.action : `: ${decision.action}`}
                  <span className="row-text">
                    {decision.rule === null ? "" : `, rule ${decision.rule}`}
                    {decision.execution === "Ordered" ? "" : decision.execution === "Proposed" ? ", waiting for approval" : ", dry run"}
                  </span>
                </span>
              </li>
            ))}
          </ul>
        )}
      </section>
    </>
  );
}

function NoNodes({ fleet }: { fleet: Fleet }) {
  return (
    <div className="page now">
      <section className="answer" data-tone="empty">
        <h1>No nodes yet.</h1>
        <p className="answer-act">Mainstay is watching {fleet.name}. It has no node with GPUs so far.</p>
      </section>
      <div className="columns">
        <div className="column-main">
      <Empty title="What this page will show">
        <p>
          Open incidents with their cost, the next step for each, and what needs your action. A node appears when its agent sends
          the first report.
        </p>
        <p>To check the installation:</p>
        <pre tabIndex={0}>
          <code>mainstay doctor</code>
        </pre>
        <p>To see a simulated fleet:</p>
        <pre tabIndex={0}>
          <code>mainstay demo</code>
        </pre>
      </Empty>
        </div>
        <aside className="column-side" aria-label="Mode and limits">
          <ModePanel mode={fleet.mode} />
        </aside>
      </div>
    </div>
  );
}
