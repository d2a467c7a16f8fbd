// Small things that appear everywhere: a stage, a moment, an id, an amount. Each says the same in shape, word and colour.

import { useState } from "react";
import type { Stage } from "../contract";
import { ago, capital, clock, gpuHours, moment, money } from "../format";
import { useNow, usePrice } from "../hooks";
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

/** Relative, with the exact moment on hover. */
export function When({ at }: { at: number }) {
  const now = useNow();
  return (
    <time className="when" dateTime={new Date(at).toISOString()} title={moment(at)}>
      {ago(at, now)}
    </time>
  );
}

/** A deadline: the hour, and how far off it is. */
export function Until({ at }: { at: number }) {
  const now = useNow();
  return (
    <time dateTime={new Date(at).toISOString()} title={moment(at)}>
      {clock(at).slice(0, 5)} <span className="when">({at >= now ? ago(at, now) : "passed"})</span>
    </time>
  );
}

/** An id that can be copied; a link if it leads somewhere. */
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

/** The nodes that a line is also about. */
export function Others({ names }: { names: string[] }) {
  if (names.length === 0) return null;
  return <span title={names.join(", ")}> and {names.length} more</span>;
}

/** GPU-hours with their price beside. */
export function Loss({ gpuSeconds, unit = true }: { gpuSeconds: number; unit?: boolean }) {
  const price = usePrice();
  return (
    <span className="loss">
      <b>{gpuHours(gpuSeconds)}</b>
      {unit ? " GPU-hours" : ""} <span className="price">{money(gpuSeconds, price)}</span>
    </span>
  );
}

/** The phrase for a request, a rule or an enum, kept in monospace because it is searched for. */
export function Word({ children }: { children: string }) {
  return <code className="word">{children}</code>;
}
