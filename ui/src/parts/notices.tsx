// What stands where there is nothing yet, or something went wrong: empty places teach, problems say what, detail, hint.

import { useEffect, useState, type ReactNode } from "react";
import { hasToken, keepToken, type Problem } from "../api";
import { restartLive } from "../live";

export function Empty({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className="empty">
      <p className="empty-title">{title}</p>
      <div className="empty-text">{children}</div>
    </div>
  );
}

export function ProblemNote({ problem, again }: { problem: Problem; again?: () => void }) {
  // The frame asks for the token, once.
  if (problem.status === 401) return null;
  return (
    <div className="problem" role="alert">
      <p>
        <b>{problem.what}</b>
      </p>
      <p>{problem.detail}</p>
      {problem.hint === "" ? null : <p className="hint">{problem.hint}</p>}
      {again === undefined ? null : (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

/** A page about one thing that could not be read; the page is still about that thing. */
export function NotThere({ name, problem, again }: { name: string; problem: Problem; again: () => void }) {
  return (
    <>
      <div className="title">
        <h1>{name}</h1>
      </div>
      <ProblemNote problem={problem} again={again} />
    </>
  );
}

/** What stands in the place of every page while the server lets nobody in without a token, or not with this one. */
export function TokenForm({ problem }: { problem: Problem }) {
  const [value, setValue] = useState("");
  return (
    <div className="page token">
      <h1>This server asks for a token</h1>
      <p>
        It is one that the cluster's API server knows: the one that <code>kubectl</code> sends for you, or that of a service account by{" "}
        <code>kubectl create token</code>. Whoever may list the fleet's kinds is let in.
      </p>
      {hasToken() ? (
        <div className="problem" role="alert">
          <p>
            <b>{problem.what}</b>
          </p>
          <p>{problem.detail}</p>
          <p className="hint">{problem.hint}</p>
        </div>
      ) : null}
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          keepToken(value);
          restartLive();
        }}
      >
        <label>
          <span>Token</span>
          <input type="password" required autoComplete="off" value={value} onChange={(event) => setValue(event.target.value)} />
        </label>
        <div className="form-end">
          <span className="form-note">It is kept in this page alone, and sent to this server only.</span>
          <button type="submit" className="main">
            Use it
          </button>
        </div>
      </form>
    </div>
  );
}

/** A waiting place in its final shape. What it waits for is said only if it takes long enough to be noticed. */
export function Waiting({ what, lines = 4 }: { what: string; lines?: number }) {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 300);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div className="waiting" aria-busy="true">
      <p className="waiting-what" role="status">
        {late ? `Reading ${what}…` : "\u00a0"}
      </p>
      {Array.from({ length: lines }, (_, line) => (
        <div key={line} className="waiting-line" style={{ width: `${90 - ((line * 17) % 45)}%` }} />
      ))}
    </div>
  );
}
