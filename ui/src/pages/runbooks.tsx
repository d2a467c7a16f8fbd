// Runbooks: the list, and one of them. The texts are those of docs/operate/runbooks, part of the program.

import { useEffect, useState } from "react";
import { linkTo } from "../address";
import { Empty, Waiting } from "../parts/notices";

function useRunbooks(): Record<string, string> | null {
  const [texts, setTexts] = useState<Record<string, string> | null>(null);
  useEffect(() => {
    void import("./runbook-texts").then(({ RUNBOOKS }) => setTexts(RUNBOOKS));
  }, []);
  return texts;
}

export function RunbooksPage() {
  const texts = useRunbooks();
  if (texts === null) return <div className="page"><Waiting what="runbooks" lines={8} /></div>;
  // The README of the folder is the list for readers of the files.
  const names = Object.keys(texts).filter((name) => name !== "README").sort();
  return (
    <div className="page">
      <div className="title">
        <h1>Runbooks</h1>
        <p className="title-text">One page for each symptom.</p>
      </div>
      <ul className="runbook-list">
        {names.map((name) => (
          <li key={name}>
            <a href={linkTo.runbook(name)}>{title(texts[name] ?? "")}</a>
          </li>
        ))}
      </ul>
    </div>
  );
}

export function RunbookPage({ name }: { name: string }) {
  const texts = useRunbooks();
  if (texts === null) return <div className="page"><Waiting what={name} lines={10} /></div>;
  const html = texts[name];
  return (
    <div className="page">
      {html === undefined ? (
        <>
          <div className="title">
            <h1>Runbooks</h1>
          </div>
          <Empty title={`There is no runbook ${name}.`}>
            <p>
              <a href={linkTo.runbooks()}>All runbooks</a>
            </p>
          </Empty>
        </>
      ) : (
        // The HTML was made from files of the repository when the page was built; no input of a node or a user is in it.
        <article className="runbook" dangerouslySetInnerHTML={{ __html: html }} />
      )}
    </div>
  );
}

function title(html: string): string {
  return /<h1>(.*?)<\/h1>/.exec(html)?.[1]?.replace(/<[^>]+>/g, "") ?? "";
}
