// The error budget over the window, one point a day. Below zero it is overspent.

import { budgetPercent, counted } from "../format";

const WIDTH = 600;
const HEIGHT = 120;
/** Room for the labels on the left. */
const LEFT = 52;
const PAD = 10;

export function BurnDown({ name, left }: { name: string; left: number[] }) {
  if (left.length < 2) return null;
  const points = [1_000_000, ...left];
  const low = Math.min(0, ...points);
  const x = (place: number) => LEFT + (place / (points.length - 1)) * (WIDTH - LEFT - PAD);
  const y = (ppm: number) => PAD + ((1_000_000 - ppm) / (1_000_000 - low)) * (HEIGHT - 2 * PAD);
  const line = points.map((ppm, place) => `${x(place).toFixed(1)},${y(ppm).toFixed(1)}`).join(" ");
  const marks = low < 0 ? [1_000_000, 0, low] : [1_000_000, 500_000, 0];
  const last = points.at(-1) ?? 0;
  return (
    <figure className="burn-down">
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={`Error budget of ${name} over ${counted(left.length, "day")}: 100 % at the start, ${budgetPercent(last)} now`}
      >
        {marks.map((ppm) => (
          <g key={ppm}>
            <line x1={LEFT} x2={WIDTH - PAD} y1={y(ppm)} y2={y(ppm)} data-zero={ppm === 0} />
            <text x={LEFT - 8} y={y(ppm) + 4}>
              {budgetPercent(ppm, 0)}
            </text>
          </g>
        ))}
        <polyline points={line} />
        <circle cx={x(points.length - 1)} cy={y(last)} r="3.5" />
      </svg>
      <figcaption>
        Budget left, over the last {counted(left.length, "day")}
      </figcaption>
    </figure>
  );
}
