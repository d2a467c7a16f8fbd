// The steps of the demo script: past, current and next.

import type { Demo } from "../../contract";
import { ago, moment } from "../../format";

export function ScriptPanel({ demo, now }: { demo: Demo; now: number }) {
  const next = demo.script.findIndex((step) => step.done !== true);
  const current = next === -1 ? demo.script.length - 1 : Math.max(0, next - 1);
  return (
    <section className="panel" aria-labelledby="script">
      <h2 id="script">Demo script</h2>
      <ol className="script">
        {demo.script.map((step, index) => (
          <li key={step.title} data-done={step.done === true} aria-current={index === current && step.done === true ? "step" : undefined}>
            <span className="script-title">{step.title}</span>
            <time dateTime={new Date(step.at).toISOString()} title={moment(step.at)}>
              {step.done !== true && step.at <= now ? "soon" : ago(step.at, now)}
            </time>
            {index === current ? <span className="script-text">{step.text}</span> : null}
          </li>
        ))}
      </ol>
    </section>
  );
}
