// One timeline of an incident, with the seconds between: where time went is seen without subtracting.

import { linkTo } from "../../address";
import type { IncidentEvent, IncidentEventKind } from "../../contract";
import { clock, moment, span } from "../../format";

const WORD: Record<IncidentEventKind, string> = {
  Evidence: "Evidence",
  Decision: "Decision",
  Asked: "Checkpoint asked",
  Saved: "Saved",
  Drained: "Drained",
  Repaired: "Repaired",
  Qualified: "Qualified",
  Returned: "Returned",
  Lost: "Lost",
  Blamed: "Blamed",
  Breaker: "Breaker",
};

export function IncidentTimeline({ events }: { events: IncidentEvent[] }) {
  const ordered = [...events].sort((a, b) => a.at - b.at);
  return (
    <ol className="timeline">
      {ordered.map((event, index) => {
        const before = ordered[index - 1];
        return (
          <li key={`${event.at} ${event.kind} ${event.node ?? ""} ${index}`} data-kind={event.kind}>
            <span className="timeline-between">{before === undefined ? "" : `+${span(event.at - before.at)}`}</span>
            <span className="timeline-dot" aria-hidden="true" />
            <span className="timeline-text">
              <b>{WORD[event.kind]}</b>
              {event.node === null ? null : (
                <>
                  {" "}
                  <a href={linkTo.node(event.node)}>{event.node}</a>
                </>
              )}
              <span className="timeline-said">{event.text}</span>
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
