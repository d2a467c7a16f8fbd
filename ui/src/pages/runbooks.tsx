// Runbooks: the list, and one of them. The texts are those of docs/operate/runbooks, part of the program.

import { useEffect, useState } from "react";
import { linkTo } from "../address";
import { Empty, Waiting } from "../parts/notices";
import { TITLES } from "./runbook-titles";

export function RunbooksPage() {
  return (
    <div className="page">
      <div className="title">
        <h1>Runbooks</h1>
        <p className="title-text">One page for each symptom.</p>
      </div>
      <ul className="runbook-list">
        {Object.entries(TITLES)
          .sort(([a], [b]) => a.localeCompare(b))
          .map(([name, title]) => (
            <li key={name}>
              <a href={linkTo.runbook(name)}>{title}</a>
            </li>
          ))}
      </ul>
    </div>
  );
}

export function RunbookPage({ name }: { name: string }) {
  if (TITLES[name] === undefined) return <Missing title={`There is no runbook ${name}.`} />;
  return <RunbookText key={name} name={name} />;
}

function RunbookText({ name }: { name: string }) {
  const [html, setHtml] = useState<string | null>(null);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    const leaving = new AbortController();
    fetch(`./runbooks/${name}.html`, { signal: leaving.signal })
      .then((answer) => (answer.ok ? answer.text() : Promise.reject(new Error(answer.statusText))))
      .then(setHtml)
      .catch(() => {
        if (!leaving.signal.aborted) setFailed(true);
      });
    return () => leaving.abort();
  }, [name]);
  if (failed) {
    return (
      <Missing title="The server does not answer.">
        <p>
          The command line has the same text: <code>mainstay runbook {name}</code>
        </p>
      </Missing>
    );
  }
  if (html === null) return <div className="page"><Waiting what={name} lines={10} /></div>;
  return (
    <div className="page">
      {/* The HTML was made from files of the repository when the page was built; no input of a node or a user is in it. */}
      <article className="runbook" dangerouslySetInnerHTML={{ __html: html }} />
    </div>
  );
}

function Missing({ title, children }: { title: string; children?: React.ReactNode }) {
  return (
    <div className="page">
      <div className="title">
        <h1>Runbooks</h1>
      </div>
      <Empty title={title}>
        {children}
        <p>
          <a href={linkTo.runbooks()}>All runbooks</a>
        </p>
      </Empty>
    </div>
  );
}
