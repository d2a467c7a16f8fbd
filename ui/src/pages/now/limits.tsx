// Limits on actions: disruption budgets per failure domain, and circuit breakers of rules that flagged too many nodes.

import { linkTo } from "../../address";
import type { Breaker, Budget } from "../../contract";
import { count, counted, kindWord } from "../../format";
import { When } from "../../parts/marks";

export function BudgetPanel({ budgets }: { budgets: Budget[] }) {
  return (
    <section className="panel" aria-labelledby="budgets">
      <h2 id="budgets">Disruption budgets</h2>
      {budgets.length === 0 ? (
        <>
          <p>No pool has a disruption budget, so no node may be removed from service. Set one in the pool's FleetPolicy:</p>
          <p>
            <code>kubectl explain fleetpolicy.spec.budgets</code>
          </p>
        </>
      ) : (
        <ul className="budgets">
          {budgets.map((budget) => (
            <BudgetLine key={`${budget.pool} ${budget.level ?? ""}`} budget={budget} />
          ))}
        </ul>
      )}
    </section>
  );
}

function BudgetLine({ budget }: { budget: Budget }) {
  // A dry run uses the budget as an executed removal would.
  const used = budget.out + budget.dryRun;
  const spent = used >= budget.max;
  const part = budget.max === 0 ? 1 : Math.min(1, used / budget.max);
  const where = budget.level === null ? "whole pool" : `fullest ${kindWord(budget.level)}`;
  return (
    <li data-spent={spent}>
      <span className="budget-name">
        {budget.pool}, <span className="row-text">{where}</span>
      </span>
      <span className="budget-count">
        <b>{count(budget.out)}</b> out{budget.dryRun === 0 ? "" : `, ${count(budget.dryRun)} in dry run`}, limit {count(budget.max)}{spent ? ", exhausted" : ""}
      </span>
      <span className="bar" aria-hidden="true">
        <span style={{ width: `${part * 100}%` }} />
      </span>
    </li>
  );
}

export function BreakerPanel({ breakers }: { breakers: Breaker[] }) {
  return (
    <section className="panel" aria-labelledby="breakers">
      <h2 id="breakers">Circuit breakers</h2>
      {breakers.length === 0 ? (
        <p>All closed. A breaker opens when its rule flags too many nodes at once, so a faulty sensor cannot drain the fleet.</p>
      ) : (
        <ul className="lines">
          {breakers.map((breaker) => (
            <li key={`${breaker.pool} ${breaker.rule}`} className="breaker">
              <span>
                <b className="alarm-text">{breaker.state === "Open" ? "Open" : "Half open"}</b> <code>{breaker.rule}</code> in{" "}
                {breaker.pool}, <When at={breaker.since} />
              </span>
              <span className="row-text">
                The rule flagged {counted(breaker.flagged, "node")} for removal. <a href={linkTo.nodes({ waitingOn: "Breaker" })}>{counted(breaker.waiting, "node waits", "nodes wait")}</a> for the breaker.{" "}
                {breaker.test === null ? null : (
                  <>
                    The rule is being tested on <a href={linkTo.node(breaker.test)}>{breaker.test}</a>.
                  </>
                )}
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
