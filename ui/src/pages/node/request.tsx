// The form for operator requests. A request follows the same limits as automatic actions: it may wait for a budget or a job.

import { useState } from "react";
import { Problem, send } from "../../api";
import type { NodeDetail, RequestKind } from "../../contract";
import { capital } from "../../format";
import { useActor, useSettings } from "../../hooks";
import { CommandHint } from "../../parts/command";
import { ProblemNote } from "../../parts/notices";
import { choose } from "../../settings";

const KINDS = Object.entries({
  hold: "Leave the node as it is until the request is withdrawn.",
  quarantine: "Schedule no new jobs on the node. Running jobs continue.",
  drain: "Request a checkpoint from its jobs, then remove the node from service.",
  return: "Test the node and return it to service.",
  retire: "Drain the node and remove it permanently.",
} satisfies Record<RequestKind, string>) as [RequestKind, string][];

export function RequestForm({ node, done }: { node: NodeDetail; done: () => void }) {
  const { person } = useSettings();
  const actor = useActor("Request");
  const [kind, setKind] = useState<RequestKind | null>(null);
  const [reason, setReason] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const [result, setResult] = useState("");
  const path = `/nodes/${encodeURIComponent(node.name)}/request`;

  const run = async (work: () => Promise<unknown>, confirmation: string) => {
    try {
      await work();
      setProblem(null);
      setResult(confirmation);
      setKind(null);
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
          <b>{capital(node.request.kind)}</b>, requested by {by}: {why}
        </p>
        {problem === null ? null : <ProblemNote problem={problem} />}
        {actor.as === "readOnly" ? (
          <CommandHint command={`kubectl edit gpunode ${node.name}`} />
        ) : (
          <button type="button" onClick={() => void run(() => send("DELETE", path), "Request withdrawn.")}>
            Withdraw request
          </button>
        )}
      </div>
    );
  }
  if (actor.as === "readOnly") {
    return (
      <>
        <p>No operator request is open for this node.</p>
        <CommandHint command={`kubectl edit gpunode ${node.name}`} />
      </>
    );
  }
  return (
    <form
      className="form request"
      onSubmit={(event) => {
        event.preventDefault();
        void run(() => send("POST", path, { kind, reason, by: actor.as === "caller" ? actor.person : person }), `Request sent: ${kind ?? ""}.`);
      }}
    >
      <fieldset className="choices">
        <legend>Action</legend>
        {KINDS.map(([word, text]) => (
          <label key={word} className="choice">
            <input type="radio" name="kind" required checked={kind === word} onChange={() => setKind(word)} />
            <span>
              <b>{capital(word)}</b>
              <span className="choice-text">{text}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <label>
        <span>Reason</span>
        <input required value={reason} onChange={(event) => setReason(event.target.value)} placeholder="For other operators, e.g. a ticket number" />
      </label>
      {actor.as === "caller" ? (
        <p className="form-note">Sent as {actor.person}.</p>
      ) : (
        <label>
          <span>Your name</span>
          <input required value={person} onChange={(event) => choose({ person: event.target.value })} autoComplete="username" />
        </label>
      )}
      {problem === null ? null : <ProblemNote problem={problem} />}
      <div className="form-end">
        <span className="form-note" role="status">
          {result}
        </span>
        <button type="submit" className="main">
          {kind === null ? "Send request" : `Request ${kind}`}
        </button>
      </div>
    </form>
  );
}
