// The form to inject a fault into a node of the demo.

import { useState } from "react";
import { Problem, send } from "../api";
import type { Fault, Page } from "../contract";
import { useAddress, useLive, useResource } from "../hooks";
import { Dialog } from "../parts/dialog";
import { ProblemNote, Waiting } from "../parts/notices";
import { linkTo } from "../address";

export function InjectDialog({ close }: { close: () => void }) {
  const address = useAddress();
  const names = useLive((state) => state.map)?.names ?? [];
  const faults = useResource<Page<Fault> | Fault[]>("/demo/faults");
  const here = address.page === "node" ? address.id : (address.query["node"] ?? "");
  const [node, setNode] = useState(here === "" ? (names[0] ?? "") : here);
  const [fault, setFault] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const [doneOn, setDoneOn] = useState<string | null>(null);
  const list = faults.data === null ? null : Array.isArray(faults.data) ? faults.data : faults.data.items;
  const chosen = fault === "" ? (list?.[0]?.fault ?? "") : fault;
  const known = names.includes(node);

  const inject = async () => {
    try {
      await send("POST", "/demo/inject", { fault: chosen, node });
      setProblem(null);
      setDoneOn(node);
    } catch (cause) {
      if (cause instanceof Problem) setProblem(cause);
    }
  };

  return (
    <Dialog title="Inject a fault" close={close}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          void inject();
        }}
      >
        <label>
          <span>Node</span>
          <input
            value={node}
            list="inject-nodes"
            onChange={(event) => {
              setNode(event.target.value);
              setDoneOn(null);
            }}
            spellCheck={false}
            autoComplete="off"
          />
        </label>
        <datalist id="inject-nodes">
          {names
            .filter((name) => name.includes(node))
            .slice(0, 20)
            .map((name) => (
              <option key={name} value={name} />
            ))}
        </datalist>
        {list === null ? (
          faults.problem === null ? (
            <Waiting what="faults" />
          ) : (
            <ProblemNote problem={faults.problem} again={faults.again} />
          )
        ) : (
          <fieldset className="choices">
            <legend>Fault</legend>
            {list.map((item) => (
              <label key={item.fault} className="choice">
                <input type="radio" name="fault" checked={item.fault === chosen} onChange={() => setFault(item.fault)} />
                <span>
                  <b>{item.title}</b>
                  <span className="choice-text">{item.text}</span>
                </span>
              </label>
            ))}
          </fieldset>
        )}
        {problem === null ? null : <ProblemNote problem={problem} />}
        <div className="form-end">
          <span className="form-note" role="status">
            {doneOn === null ? (known || node === "" ? "" : `No node is named ${node}.`) : (
              <>
                Injected. <a href={linkTo.node(doneOn)} onClick={close}>Watch {doneOn}</a>
              </>
            )}
          </span>
          <button type="submit" className="main" disabled={!known || chosen === ""}>
            Inject
          </button>
        </div>
      </form>
    </Dialog>
  );
}
