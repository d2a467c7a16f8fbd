// Why a node is in its stage: a sentence, the evidence, and for a wait its reason, start, deadline and what ends it sooner.

import { linkTo } from "../../address";
import type { NodeExplanation, WaitingOn } from "../../contract";
import { capital } from "../../format";
import { Until, When } from "../../parts/marks";
import { WAIT_ENDS, WAIT_NOUN } from "../../waiting";

export function WhyBlock({ why, waitingOn }: { why: NodeExplanation; waitingOn: WaitingOn }) {
  return (
    <div className="why">
      <p className="why-sentence">{why.sentence}</p>
      {why.explanation === null ? null : <p>{why.explanation}</p>}
      {why.evidence.length === 0 ? null : (
        <ul className="why-evidence">
          {why.evidence.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      )}
      <dl className="facts">
        <dt>Since</dt>
        <dd>
          <When at={why.since} />
        </dd>
        {waitingOn === "Nothing" ? null : (
          <>
            <dt>Waiting for</dt>
            <dd>
              {WAIT_NOUN[waitingOn]}
              {why.until === null ? null : (
                <>
                  , at most until <Until at={why.until} />
                </>
              )}
            </dd>
            <dt>Ends when</dt>
            <dd>{WAIT_ENDS[waitingOn]}</dd>
          </>
        )}
        <dt>Next</dt>
        <dd>{capital(why.next)}</dd>
        <dt>Operator action</dt>
        <dd>{why.action === null ? "No action needed" : capital(why.action)}</dd>
        {why.runbook === null ? null : (
          <>
            <dt>Runbook</dt>
            <dd>
              <a href={linkTo.runbook(why.runbook)}>{why.runbook}</a>
            </dd>
          </>
        )}
        {why.sooner === null ? null : (
          <>
            <dt>Sooner if</dt>
            <dd>{capital(why.sooner)}</dd>
          </>
        )}
      </dl>
    </div>
  );
}
