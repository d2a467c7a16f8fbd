// The event stream, read with fetch so that it can carry a bearer token. It reconnects with a bounded backoff and reports
// when data arrives; it does not interpret events.

import { headers, Problem, refusal } from "./api";

export interface StreamEvent {
  event: string;
  data: string;
}

/** Splits a text/event-stream into events; an incomplete event is kept until the next piece. */
export class EventSplitter {
  private rest = "";

  push(piece: string): StreamEvent[] {
    this.rest += piece;
    const events: StreamEvent[] = [];
    for (;;) {
      const end = /\r?\n\r?\n/.exec(this.rest);
      if (end === null) return events;
      const event = parseEvent(this.rest.slice(0, end.index));
      this.rest = this.rest.slice(end.index + end[0].length);
      if (event !== null) events.push(event);
    }
  }
}

function parseEvent(block: string): StreamEvent | null {
  let event = "message";
  const data: string[] = [];
  for (const line of block.split(/\r?\n/)) {
    if (line.startsWith("event:")) event = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(line.startsWith("data: ") ? 6 : 5));
  }
  return data.length === 0 && event === "message" ? null : { event, data: data.join("\n") };
}

export const BACKOFF_MS_MIN = 500;
export const BACKOFF_MS_MAX = 15_000;

/** Doubles the wait after each failure up to the limit, with jitter so that many pages do not reconnect at once. */
export function backoff(failures: number, chance: number): number {
  const most = Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** Math.min(failures, 10));
  return Math.round(most / 2 + (most / 2) * chance);
}

export interface StreamHooks {
  /** Connected, for the first time or again. After a reconnect the caller reads everything again. */
  opened(again: boolean): void;
  received(): void;
  event(event: StreamEvent): void;
  closed(problem: Problem | null, retryInMs: number): void;
}

/** Follows the stream until the returned function is called. */
export function follow(path: string, hooks: StreamHooks): () => void {
  const stop = new AbortController();
  void loop(path, hooks, stop.signal);
  return () => stop.abort();
}

async function loop(path: string, hooks: StreamHooks, stop: AbortSignal): Promise<void> {
  let failures = 0;
  let openedBefore = false;
  while (!stop.aborted) {
    let problem: Problem | null = null;
    try {
      await readOnce(path, hooks, stop, () => {
        failures = 0;
        hooks.opened(openedBefore);
        openedBefore = true;
      });
    } catch (cause) {
      problem = cause instanceof Problem ? cause : null;
    }
    if (stop.aborted) return;
    const wait = backoff(failures, Math.random());
    failures += 1;
    hooks.closed(problem, wait);
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

async function readOnce(path: string, hooks: StreamHooks, stop: AbortSignal, opened: () => void): Promise<void> {
  const response = await fetch(path, { headers: headers({ Accept: "text/event-stream" }), signal: stop });
  if (!response.ok || response.body === null) throw await refusal(response);
  opened();
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const splitter = new EventSplitter();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    hooks.received();
    for (const event of splitter.push(decoder.decode(value, { stream: true }))) hooks.event(event);
  }
}
