// What bounds the acts: budgets per failure domain, and the breakers of rules that condemned too many at once.

import { linkTo } from "../../address";
import type { Breaker, Budget } from "../../contract";
import { count, counted, said } from "../../format";
import { When } from "../../parts/marks";

export function BudgetPanel({ budgets }: { budgets: Budget[] }) {
  return (
    <section className="panel" aria-labelledby="budgets">
      <h2 id="budgets">Budgets</h2>
      {budgets.length === 0 ? (
        <p>No pool has a budget, so nothing may be taken out. A DisruptionBudget in the pool's policy sets one.</p>
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
  const spent = budget.out >= budget.most;
  const part = budget.most === 0 ? 1 : Math.min(1, budget.out / budget.most);
  const where = budget.level === null ? "in all" : `fullest ${said(budget.level)}`;
  return (
    <li data-spent={spent}>
      <span className="budget-name">
        {budget.pool}, <span className="row-text">{where}</span>
      </span>
      <span className="budget-count">
        <b>{count(budget.out)}</b> of {count(budget.most)} out{spent ? ", spent" : ""}
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
      <h2 id="breakers">Breakers</h2>
      {breakers.length === 0 ? (
        <p>All closed. One opens when its rule condemns too many nodes at once, so that a mad sensor cannot empty the fleet.</p>
      ) : (
        <ul className="lines">
          {breakers.map((breaker) => (
            <li key={`${breaker.pool} ${breaker.rule}`} className="breaker">
              <span>
                <b className="alarm-text">{breaker.state === "Open" ? "Open" : "Half open"}</b> <code>{breaker.rule}</code> in{" "}
                {breaker.pool}, <When at={breaker.since} />
              </span>
              <span className="row-text">
                It condemned {counted(breaker.condemned, "node")}; <a href={linkTo.nodes({ waitingOn: "Breaker" })}>{counted(breaker.waiting, "waits", "wait")}</a>.{" "}
                {breaker.test === null ? null : (
                  <>
                    Tried on <a href={linkTo.node(breaker.test)}>{breaker.test}</a>.
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
