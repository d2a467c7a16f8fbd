// GPUs by availability as one bar, and its legend with counts. Each part has a pattern as well as a colour.

import { barText, partsOf, shareOf } from "../capacity";
import type { GpuUse } from "../contract";
import { count } from "../format";

export function UseBar({ use }: { use: GpuUse }) {
  return (
    <div className="use-bar" role="img" aria-label={barText(use)}>
      {partsOf(use)
        .filter(({ gpus }) => gpus > 0)
        .map(({ kind, word, gpus }) => (
          <span key={kind} data-part={kind} style={{ flexGrow: gpus }} title={`${word}: ${count(gpus)}`} />
        ))}
    </div>
  );
}

export function UseLegend({ use }: { use: GpuUse }) {
  return (
    <dl className="figures use-legend">
      {partsOf(use).map(({ kind, word, gpus }) => (
        <div key={kind} className="figure">
          <dt>
            <span className="swatch" data-part={kind} aria-hidden="true" />
            {word}
          </dt>
          <dd>
            <b>{count(gpus)}</b> <span>GPUs, {shareOf(gpus, use.gpus)}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}
