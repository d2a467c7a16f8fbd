// Small elements used on every page: stage, time, id, amount.

import { useState } from "react";
import type { Stage } from "../contract";
import { ago, capital, clock, moment } from "../format";
import { useNow } from "../hooks";
import { STAGE_SHAPE, STAGE_WORD } from "../stage";

export function StageShape({ stage }: { stage: Stage }) {
  return (
    <svg className="shape" viewBox="0 0 16 16" aria-hidden="true" data-stage={stage}>
      <path d={STAGE_SHAPE[stage]} fillRule="evenodd" />
    </svg>
  );
}

export function StageMark({ stage }: { stage: Stage }) {
  return (
    <span className="stage" data-stage={stage}>
      <StageShape stage={stage} />
      {capital(STAGE_WORD[stage])}
    </span>
  );
}

/** A relative time, with the exact time as tooltip. */
export function When({ at }: { at: number }) {
  const now = useNow();
  return (
    <time className="when" dateTime={new Date(at).toISOString()} title={moment(at)}>
      {ago(at, now)}
    </time>
  );
}

/** A deadline: the time of day and the time left. */
export function Until({ at }: { at: number }) {
  const now = useNow();
  return (
    <time dateTime={new Date(at).toISOString()} title={moment(at)}>
      {clock(at).slice(0, 5)} UTC <span className="when">({at >= now ? ago(at, now) : "passed"})</span>
    </time>
  );
}

/** An id with a copy button; a link if `href` is given. */
export function Id({ text, href }: { text: string; href?: string }) {
  const [copied, setCopied] = useState(false);
  const copy = () => {
    void navigator.clipboard.writeText(text).then(() => {
      setCopied(true);
      setTimeout(() => setCopied(false), 1500);
    });
  };
  return (
    <span className="id">
      {href === undefined ? <code>{text}</code> : <a href={href}>{text}</a>}
      <button type="button" className="copy" onClick={copy} aria-label={`Copy ${text}`} title={copied ? "Copied" : "Copy"}>
        <svg viewBox="0 0 16 16" aria-hidden="true">
          {copied ? <path d="M3 8.5l3.2 3L13 4.5" /> : <path d="M5.5 5.5V2.5h8v8h-3M2.5 5.5h8v8h-8z" />}
        </svg>
      </button>
    </span>
  );
}

/** The number of further nodes in a line, with their names as tooltip. */
export function Others({ names }: { names: string[] }) {
  if (names.length === 0) return null;
  return <span title={names.join(", ")}> and {names.length} more</span>;
}
