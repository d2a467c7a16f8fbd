// Repair steps and tests of a node, with their outcome as far as it is known. The status of a node records when a step was
// ordered; it has no outcome for a step that has ended.

import type { NodeAttempt, NodeDetail, NodeOrder } from "../../contract";
import { Until, When } from "../../parts/marks";

export function RepairSteps({ node }: { node: NodeDetail }) {
  if (node.attempts.length === 0 && node.orders.length === 0) return null;
  const place = new Map(node.gpusList.map((gpu) => [gpu.serial, gpu.index]));
  const running = new Map(node.orders.map((order) => [order.task, order]));
  const attempts = [...node.attempts].sort((a, b) => b.at - a.at);
  const latest = new Map<string, NodeAttempt>(attempts.toReversed().map((attempt) => [attempt.step, attempt]));
  const alone = node.orders.filter((order) => !latest.has(order.task));
  return (
    <section aria-labelledby="steps">
      <h2 id="steps">Repair steps and tests</h2>
      <div className="scroll" tabIndex={0} role="group" aria-label="Repair steps and tests">
        <table className="table">
          <thead>
            <tr>
              <th scope="col">Step</th>
              <th scope="col">Target</th>
              <th scope="col">Rule</th>
              <th scope="col">Ordered</th>
              <th scope="col">Outcome</th>
            </tr>
          </thead>
          <tbody>
            {alone.map((order) => (
              <tr key={order.id}>
                <td>{stepWord(order.task)}</td>
                <td>node</td>
                <td />
                <td />
                <td>
                  <InProgress order={order} />
                </td>
              </tr>
            ))}
            {attempts.map((attempt) => {
              const order = latest.get(attempt.step) === attempt ? running.get(attempt.step) : undefined;
              const gpu = attempt.device === null ? undefined : place.get(attempt.device);
              return (
                <tr key={`${attempt.at} ${attempt.step} ${attempt.device ?? ""}`}>
                  <td>{stepWord(attempt.step)}</td>
                  <td>{attempt.device === null ? "node" : gpu === undefined ? attempt.device : <span title={attempt.device}>GPU {gpu}</span>}</td>
                  <td>
                    <code>{attempt.rule}</code>
                  </td>
                  <td>
                    <When at={attempt.at} />
                  </td>
                  <td>{order === undefined ? <span className="row-text">not known</span> : <InProgress order={order} />}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {attempts.some((attempt) => !running.has(attempt.step)) ? (
        <p className="row-text">The outcome of a finished step is not recorded. The stage history shows what followed.</p>
      ) : null}
    </section>
  );
}

function InProgress({ order }: { order: NodeOrder }) {
  return (
    <span title={order.id}>
      in progress, due by <Until at={order.doneBy} />
    </span>
  );
}

const STEP_WORD: Record<string, string> = {
  Capture: "Save logs and bug report",
  RestartService: "Restart service",
  ResetGpu: "Reset GPU",
  Reboot: "Reboot",
  PowerCycle: "Power-cycle",
  Replace: "Replace part (ticket)",
};

/** A repair step or, as "suite NAME", a test suite. */
function stepWord(task: string): string {
  return STEP_WORD[task] ?? (task.startsWith("suite ") ? `Test ${task}` : task);
}
