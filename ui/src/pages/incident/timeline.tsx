// The timeline of an incident, with the time between events.

import { linkTo } from "../../address";
import type { IncidentEvent, IncidentEventKind } from "../../contract";
import { clock, moment, span } from "../../format";
import { gather, withoutName } from "../../gather";
import { Others } from "../../parts/marks";

const WORD: Record<IncidentEventKind, string> = {
  Evidence: "Evidence",
  Decision: "Decision",
  CheckpointRequested: "Checkpoint requested",
  Saved: "Checkpoint saved",
  Drained: "Drained",
  Repaired: "Repaired",
  Qualified: "Tests passed",
  Returned: "Returned to service",
  Lost: "Work lost",
  Attributed: "Shared cause",
  Breaker: "Circuit breaker",
};

/** Equal events of several nodes within this time are one line. */
const TOGETHER_MS = 60_000;

export function IncidentTimeline({ events }: { events: IncidentEvent[] }) {
  const ordered = [...events].sort((a, b) => a.at - b.at);
  const textOf = (event: IncidentEvent) => withoutName(event.text, event.node);
  const lines = gather(ordered, (event) => `${event.kind} ${textOf(event)}`, TOGETHER_MS);
  return (
    <ol className="timeline">
      {lines.map(({ item: event, others }, index) => {
        const before = lines[index - 1]?.item;
        const between = before === undefined ? 0 : event.at - before.at;
        return (
          <li key={`${event.at} ${event.kind} ${event.node ?? ""} ${index}`} data-kind={event.kind}>
            <span className="timeline-between">{between === 0 ? "" : `+${span(between)}`}</span>
            <span className="timeline-dot" aria-hidden="true" />
            <span className="timeline-text">
              <b>{WORD[event.kind]}</b>
              {event.node === null ? null : (
                <>
                  {" "}
                  <a href={linkTo.node(event.node)}>{event.node}</a>
                  <Others names={others} />
                </>
              )}
              <span className="timeline-detail">{textOf(event)}</span>
            </span>
            <time dateTime={new Date(event.at).toISOString()} title={moment(event.at)}>
              {clock(event.at)}
            </time>
          </li>
        );
      })}
    </ol>
  );
}
