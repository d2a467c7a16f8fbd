// The side panel for the selected node: a summary with a link to the node page.

import { useEffect, useRef } from "react";
import { linkTo } from "../address";
import type { NodeDetail } from "../contract";
import { useResource } from "../hooks";
import { ProblemNote, Waiting } from "../parts/notices";
import { Id, StageMark } from "../parts/marks";
import { WhyBlock } from "../pages/node/why";
import { NodeFacts } from "../pages/node/facts";
import { GpuStrip } from "../pages/node/gpus";

export function NodePanel({ name, close }: { name: string; close: () => void }) {
  const node = useResource<NodeDetail>(`/nodes/${encodeURIComponent(name)}`, [name]);
  const panel = useRef<HTMLElement>(null);
  useEffect(() => {
    const element = panel.current;
    if (element === null) return;
    const key = (event: KeyboardEvent) => event.key === "Escape" && close();
    element.addEventListener("keydown", key);
    return () => element.removeEventListener("keydown", key);
  }, [close]);
  return (
    <section ref={panel} className="side-panel" aria-label={`Node ${name}`}>
      <div className="side-head">
        <h2>
          <Id text={name} href={linkTo.node(name)} />
        </h2>
        <button type="button" className="quiet" aria-label="Close panel" onClick={close}>
          ✕
        </button>
      </div>
      {node.data === null ? (
        node.problem === null ? (
          <Waiting what={name} lines={8} />
        ) : (
          <ProblemNote problem={node.problem} again={node.again} />
        )
      ) : (
        <>
          <p className="side-stage">
            <StageMark stage={node.data.stage} />
          </p>
          <WhyBlock why={node.data.why} waitingOn={node.data.waitingOn} />
          <GpuStrip node={node.data} />
          <NodeFacts node={node.data} extent="brief" />
          <p className="side-end">
            <a className="button main" href={linkTo.node(name)}>
              Open node page
            </a>
          </p>
        </>
      )}
    </section>
  );
}
