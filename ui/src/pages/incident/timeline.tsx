// One timeline of an incident, with the seconds between: where time went is seen without subtracting.

import { linkTo } from "../../address";
import type { IncidentEvent, IncidentEventKind } from "../../contract";
import { clock, moment, span } from "../../format";
import { gather, withoutName } from "../../gather";
import { Others } from "../../parts/marks";

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

/** What several nodes do within this time is one line. */
const TOGETHER_MS = 60_000;

export function IncidentTimeline({ events }: { events: IncidentEvent[] }) {
  const ordered = [...events].sort((a, b) => a.at - b.at);
  const said = (event: IncidentEvent) => withoutName(event.text, event.node);
  const lines = gather(ordered, (event) => `${event.kind} ${said(event)}`, TOGETHER_MS);
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
              <span className="timeline-said">{said(event)}</span>
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
