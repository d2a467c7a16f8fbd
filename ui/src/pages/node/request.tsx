// What a person asks of a node. A request is weighed like everything else: it may have to wait for a budget or a job.

import { useState } from "react";
import { Problem, send } from "../../api";
import type { NodeDetail, RequestKind } from "../../contract";
import { capital } from "../../format";
import { SayIt } from "../../cluster/notes";
import { useActor, useSettings } from "../../hooks";
import { ProblemNote } from "../../parts/notices";
import { choose } from "../../settings";

const KINDS = Object.entries({
  hold: "Leave the node exactly as it is until the hold is withdrawn.",
  quarantine: "Send no new work to it. Running work goes on.",
  drain: "Ask its jobs to save, then take it out of service.",
  return: "Qualify it and put it back into service.",
  retire: "Empty it, and let it never come back.",
} satisfies Record<RequestKind, string>) as [RequestKind, string][];

export function RequestForm({ node, done }: { node: NodeDetail; done: () => void }) {
  const { person } = useSettings();
  const actor = useActor("Ask");
  const [kind, setKind] = useState<RequestKind>("drain");
  const [reason, setReason] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const [said, setSaid] = useState("");
  const path = `/nodes/${encodeURIComponent(node.name)}/request`;

  const run = async (work: () => Promise<unknown>, words: string) => {
    try {
      await work();
      setProblem(null);
      setSaid(words);
      setReason("");
      done();
    } catch (cause) {
      if (cause instanceof Problem) setProblem(cause);
    }
  };

  if (node.request !== null) {
    const { by, reason: why } = node.request;
    return (
      <div className="request">
        <p>
          <b>{capital(node.request.kind)}</b>, asked by {by}: {why}
        </p>
        {problem === null ? null : <ProblemNote problem={problem} />}
        {actor.as === "nobody" ? (
          <SayIt command={`kubectl edit gpunode ${node.name}`} />
        ) : (
          <button type="button" onClick={() => void run(() => send("DELETE", path), "Withdrawn.")}>
            Withdraw the request
          </button>
        )}
      </div>
    );
  }
  if (actor.as === "nobody") {
    return (
      <>
        <p>Nobody asks anything of it.</p>
        <SayIt command={`kubectl edit gpunode ${node.name}`} />
      </>
    );
  }
  return (
    <form
      className="form request"
      onSubmit={(event) => {
        event.preventDefault();
        void run(() => send("POST", path, { kind, reason, by: actor.as === "caller" ? actor.person : person }), `Asked to ${kind}.`);
      }}
    >
      <fieldset className="choices">
        <legend>Ask to</legend>
        {KINDS.map(([word, text]) => (
          <label key={word} className="choice">
            <input type="radio" name="kind" checked={kind === word} onChange={() => setKind(word)} />
            <span>
              <b>{capital(word)}</b>
              <span className="choice-text">{text}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <label>
        <span>Reason</span>
        <input required value={reason} onChange={(event) => setReason(event.target.value)} placeholder="What the next person should know" />
      </label>
      {actor.as === "caller" ? (
        <p className="form-note">It is asked as {actor.person}.</p>
      ) : (
        <label>
          <span>Your name</span>
          <input required value={person} onChange={(event) => choose({ person: event.target.value })} autoComplete="username" />
        </label>
      )}
      {problem === null ? null : <ProblemNote problem={problem} />}
      <div className="form-end">
        <span className="form-note" role="status">
          {said}
        </span>
        <button type="submit" className="main">
          Ask to {kind}
        </button>
      </div>
    </form>
  );
}
