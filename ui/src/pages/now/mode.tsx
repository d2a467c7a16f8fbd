// The mode of the fleet, and the button that stops all actions.

import { useState } from "react";
import { Problem, send } from "../../api";
import { MODES, type Mode } from "../../contract";
import { useActor, useLive, useSettings } from "../../hooks";
import { readFleet } from "../../live";
import { CommandHint } from "../../parts/command";
import { Dialog } from "../../parts/dialog";
import { ProblemNote } from "../../parts/notices";
import { choose } from "../../settings";

const MEANS: Record<Mode, string> = {
  Observe: "Dry run: decisions are recorded, no node or job is changed.",
  Propose: "Each action waits for an operator's approval.",
  Act: "Decisions are executed within the disruption budgets below.",
};

/** On a cluster, the mode shown is the one in effect. Without the permission to act, that is Observe. */
function meaning(mode: Mode, real: boolean): string {
  return real && mode !== "Observe" ? `${MEANS[mode]} The controller also needs the permission to act.` : MEANS[mode];
}

export function ModePanel({ mode }: { mode: Mode }) {
  const [problem, setProblem] = useState<Problem | null>(null);
  const [asked, setAsked] = useState<"stop" | Mode | null>(null);
  const actor = useActor("SetMode");
  const real = useLive((state) => state.fleet?.cluster != null);
  return (
    <section className="panel" aria-labelledby="mode">
      <div className="section-head">
        <h2 id="mode">Mode</h2>
        <span className="mode-word" data-mode={mode}>
          {mode}
        </span>
      </div>
      <p>{meaning(mode, real)}</p>
      {actor.as === "readOnly" ? (
        <CommandHint command="kubectl edit cell cell" />
      ) : (
        <div className="row">
          {MODES.filter((other) => other !== mode).map((other) => (
            <button key={other} type="button" onClick={() => setAsked(other)}>
              Set {other}
            </button>
          ))}
          {mode === "Observe" ? null : (
            <button type="button" className="alarm" onClick={() => setAsked("stop")}>
              Stop all actions
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
  const real = useLive((state) => state.fleet?.cluster != null);
  const [reason, setReason] = useState("");
  const stop = asked === "stop";
  const act = async () => {
    try {
      // A Cell has no field for a reason; the audit log of the API server records the user.
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
    <Dialog title={stop ? "Stop all actions" : `Change mode from ${mode} to ${asked}`} close={close}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          void act();
        }}
      >
        <p>
          {stop
            ? "The mode changes to Observe at once. Nodes finish orders that have already started. No new action starts."
            : meaning(asked, real)}
        </p>
        {actor.as === "caller" ? <p className="form-note">Recorded as {actor.person}.</p> : null}
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
            {stop ? "Stop all actions" : `Set ${asked}`}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
