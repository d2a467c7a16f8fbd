// Texts for special states: notices at the top of the page, empty lists, problems (what, detail, hint), sign-in, loading.

import { useEffect, useState, type ReactNode } from "react";
import { hasToken, keepToken, type Problem } from "../api";
import type { Notice } from "../fleet-notices";
import { capital } from "../format";
import { restartLive } from "../live";

/** Notices above every page, such as "Mode Act has no effect". Alarms are announced to screen readers. */
export function Notices({ notices }: { notices: Notice[] }) {
  if (notices.length === 0) return null;
  return (
    <section aria-label="Messages">
      <ul className="notices" aria-label="Notices">
        {notices.map(({ key, tone, title, text, command }) => (
          <li key={key} data-tone={tone}>
            <b role={tone === "alarm" ? "status" : undefined}>{title}</b> {text} {command === undefined ? null : <code>{command}</code>}
          </li>
        ))}
      </ul>
    </section>
  );
}

export function Empty({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className="empty">
      <p className="empty-title">{title}</p>
      <div className="empty-text">{children}</div>
    </div>
  );
}

export function ProblemNote({ problem, again }: { problem: Problem; again?: () => void }) {
  // The frame shows the sign-in form for a missing token.
  if (problem.status === 401) return null;
  return (
    <div className="problem" role="alert">
      <p>
        <b>{capital(problem.what)}</b>
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

/** The page of one object that could not be read. The heading still names the object. */
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

/** The sign-in form, shown instead of every page while the server requires a token or rejects the one it got. */
export function TokenForm({ problem }: { problem: Problem }) {
  const [value, setValue] = useState("");
  return (
    <div className="page token">
      <h1>Sign in with a token</h1>
      <p>
        This server requires a Kubernetes bearer token. Use the token that <code>kubectl</code> sends for you, or create one for a service
        account with <code>kubectl create token NAME</code>. The account needs permission to list nodes and Mainstay resources; the ClusterRole mainstay-viewer gives it.
      </p>
      {hasToken() ? (
        <div className="problem" role="alert">
          <p>
            <b>{capital(problem.what)}</b>
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
          <span className="form-note">Held in memory only, and sent only to this server.</span>
          <button type="submit" className="main">
            Sign in
          </button>
        </div>
      </form>
    </div>
  );
}

/** A placeholder in the shape of the final content. After 300 ms it names what is loading. */
export function Waiting({ what, lines = 4 }: { what: string; lines?: number }) {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 300);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div className="waiting" aria-busy="true">
      <p className="waiting-what" role="status">
        {late ? `Loading ${what}…` : "\u00a0"}
      </p>
      {Array.from({ length: lines }, (_, line) => (
        <div key={line} className="waiting-line" style={{ width: `${90 - ((line * 17) % 45)}%` }} />
      ))}
    </div>
  );
}
