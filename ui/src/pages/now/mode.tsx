// How far Mainstay may go, and the way to stop it at once.

import { useState } from "react";
import { Problem, send } from "../../api";
import { MODES, type Mode } from "../../contract";
import { SayIt } from "../../cluster/notes";
import { useActor, useSettings } from "../../hooks";
import { readFleet } from "../../live";
import { Dialog } from "../../parts/dialog";
import { ProblemNote } from "../../parts/notices";
import { choose } from "../../settings";

const MEANS: Record<Mode, string> = {
  Observe: "Everything is decided on paper. Nothing is touched.",
  Propose: "Each act waits for a person's approval.",
  Act: "Decisions are carried out, within the budgets below.",
};

export function ModePanel({ mode }: { mode: Mode }) {
  const [problem, setProblem] = useState<Problem | null>(null);
  const [asked, setAsked] = useState<"stop" | Mode | null>(null);
  const actor = useActor("SetMode");
  return (
    <section className="panel" aria-labelledby="mode">
      <div className="section-head">
        <h2 id="mode">Mode</h2>
        <span className="mode-word" data-mode={mode}>
          {mode}
        </span>
      </div>
      <p>{MEANS[mode]}</p>
      {actor.as === "nobody" ? (
        <SayIt command="kubectl edit cell cell" />
      ) : (
        <div className="row">
          {MODES.filter((other) => other !== mode).map((other) => (
            <button key={other} type="button" onClick={() => setAsked(other)}>
              {other}
            </button>
          ))}
          {mode === "Observe" ? null : (
            <button type="button" className="alarm" onClick={() => setAsked("stop")}>
              Stop everything
            </button>
          )}
        </div>
      )}
      {problem === null ? null : <ProblemNote problem={problem} />}
      {asked === null ? null : <ModeDialog asked={asked} mode={mode} close={() => setAsked(null)} failed={setProblem} />}
    </section>
  );
}

interface ModeDialogProps {
  asked: "stop" | Mode;
  mode: Mode;
  close: () => void;
  failed: (problem: Problem | null) => void;
}

function ModeDialog({ asked, mode, close, failed }: ModeDialogProps) {
  const { person } = useSettings();
  const actor = useActor("SetMode");
  const [reason, setReason] = useState("");
  const stop = asked === "stop";
  const act = async () => {
    try {
      // A Cell has no place for a reason; who it was, the API server writes down itself.
      if (stop && actor.as === "caller") await send("PUT", "/mode", { mode: "Observe" });
      else if (stop) await send("POST", "/stop", { by: person, reason });
      else await send("PUT", "/mode", { mode: asked });
      failed(null);
      await readFleet();
    } catch (cause) {
      if (cause instanceof Problem) failed(cause);
    }
    close();
  };
  return (
    <Dialog title={stop ? "Stop everything" : `From ${mode} to ${asked}`} close={close}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          void act();
        }}
      >
        <p>
          {stop
            ? "The mode becomes Observe at once. Orders that nodes already carry out are finished; nothing new begins."
            : MEANS[asked]}
        </p>
        {actor.as === "caller" ? <p className="form-note">It is done as {actor.person}.</p> : null}
        {stop && actor.as === "named" ? (
          <>
            <label>
              <span>Your name</span>
              <input required value={person} onChange={(event) => choose({ person: event.target.value })} autoComplete="username" />
            </label>
            <label>
              <span>Reason</span>
              <input required value={reason} onChange={(event) => setReason(event.target.value)} />
            </label>
          </>
        ) : null}
        <div className="form-end">
          <button type="submit" className={stop ? "main alarm" : "main"}>
            {stop ? "Stop" : `Set ${asked}`}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
