// Calls to the HTTP API, with a bearer token where the server requires one. The token is the only state.

import type { ProblemBody } from "./contract";

const ROOT = "api/v1";
/** Longest time a call may take before it is reported as a problem. */
const CALL_MS_MAX = 20_000;

/** A rejected or failed call, with the server's own text if there is one. */
export class Problem extends Error {
  readonly what: string;
  readonly detail: string;
  readonly hint: string;
  readonly status: number;

  constructor(body: ProblemBody, status: number) {
    super(`${body.what}: ${body.detail}`);
    this.what = body.what;
    this.detail = body.detail;
    this.hint = body.hint;
    this.status = status;
  }
}

/** The token is held in memory only: no storage, no cookie. */
let bearer = "";

export function hasToken(): boolean {
  return bearer !== "";
}

export function keepToken(value: string): void {
  bearer = value.trim();
}

export function headers(extra: Record<string, string> = {}): Record<string, string> {
  return bearer === "" ? extra : { ...extra, Authorization: `Bearer ${bearer}` };
}

export function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return call<T>("GET", path, undefined, signal);
}

export function send(method: "POST" | "PUT" | "DELETE", path: string, body?: unknown): Promise<unknown> {
  return call(method, path, body);
}

async function call<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const limit = AbortSignal.timeout(CALL_MS_MAX);
  let response: Response;
  try {
    response = await fetch(`${ROOT}${path}`, {
      method,
      headers: headers(body === undefined ? {} : { "Content-Type": "application/json" }),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
    });
  } catch (cause) {
    if (signal?.aborted === true) throw cause;
    throw unreachable(limit.aborted);
  }
  if (!response.ok) throw await refusal(response);
  if (response.status === 204) return undefined as T;
  const text = await response.text();
  return (text === "" ? undefined : JSON.parse(text)) as T;
}

function unreachable(late: boolean): Problem {
  return new Problem(
    {
      what: "cannot reach the Mainstay server",
      detail: late ? `No response within ${CALL_MS_MAX / 1000} s.` : "The connection failed.",
      hint: "Check that the mainstay process is running and that the address in the address bar is correct.",
    },
    0,
  );
}

export async function refusal(response: Response): Promise<Problem> {
  const fallback: ProblemBody = {
    what: response.status === 401 ? "the server requires a token" : "the server rejected the request",
    detail: `HTTP ${response.status} ${response.statusText}`.trim(),
    hint: response.status === 404 ? "Check the name. The object may have been deleted." : "Try again in a moment.",
  };
  try {
    const body = (await response.json()) as Partial<ProblemBody>;
    return new Problem({ ...fallback, ...body }, response.status);
  } catch {
    return new Problem(fallback, response.status);
  }
}
