// One figure: a name, a number and its unit.

import { linkTo } from "../address";
import { gpuHours, money, capacityGpus } from "../format";
import { usePrice } from "../hooks";

export function Figure({ name, value, unit, href }: { name: string; value: string; unit: string; href?: string }) {
  return (
    <div className="figure">
      <dt>{href === undefined ? name : <a href={href}>{name}</a>}</dt>
      <dd>
        <b>{value}</b> <span>{unit}</span>
      </dd>
    </div>
  );
}

/** GPU time and its price; not shown where the value is unknown. */
export function CostFigure({ name, gpuSeconds }: { name: string; gpuSeconds: number | null }) {
  const price = usePrice();
  if (gpuSeconds === null) return null;
  return <Figure name={name} value={gpuHours(gpuSeconds)} unit={`GPU-hours, ${money(gpuSeconds, price)}`} />;
}

/** GPUs that are out of service now, and their price per hour: capacity, not work that jobs lost. */
export function CapacityFigure({ rate }: { rate: number }) {
  const price = usePrice();
  return <Figure name="Capacity out of service" value={capacityGpus(rate)} unit={`GPUs, ${money(rate, price)} per hour`} href={linkTo.fleet()} />;
}
