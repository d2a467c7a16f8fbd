// The stage history of a node: a bar with each stage by duration, and the list of changes.

import type { NodeDetail } from "../../contract";
import { moment, span } from "../../format";
import { useNow } from "../../hooks";
import { StageMark, StageShape, When } from "../../parts/marks";
import { STAGE_WORD } from "../../stage";

export function StageTimeline({ timeline }: { timeline: NodeDetail["timeline"] }) {
  const now = useNow();
  const steps = [...timeline].sort((a, b) => a.at - b.at);
  const first = steps[0];
  if (first === undefined) return <p className="row-text">No stage change is recorded for this node.</p>;
  const spans = steps.map((step, index) => ({ ...step, until: steps[index + 1]?.at ?? Math.max(now, step.at) }));
  // Square root of the duration, so that seconds stay visible next to days.
  const weights = spans.map((step) => Math.sqrt(Math.max(1000, step.until - step.at)));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return (
    <>
      <div className="stage-bar" aria-hidden="true">
        {spans.map((step, index) => (
          <span
            key={step.at}
            data-stage={step.to}
            style={{ flexGrow: (weights[index] ?? 0) / sum }}
            title={`Stage ${STAGE_WORD[step.to]}: ${span(step.until - step.at)}, started ${moment(step.at)}`}
          >
            <StageShape stage={step.to} />
          </span>
        ))}
      </div>
      <ol className="stage-steps">
        {[...spans].reverse().map((step, index) => (
          <li key={step.at}>
            <StageMark stage={step.to} />
            <span>{index === 0 ? `for ${span(step.until - step.at)} so far` : `for ${span(step.until - step.at)}`}</span>
            <span className="row-text">{step.rule === null ? "" : <code>{step.rule}</code>}</span>
            <When at={step.at} />
          </li>
        ))}
      </ol>
    </>
  );
}
