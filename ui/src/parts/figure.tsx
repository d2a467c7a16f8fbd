// One figure of a row of them: a name, a number, its unit.

export function Figure({ name, value, unit }: { name: string; value: string; unit: string }) {
  return (
    <div className="figure">
      <dt>{name}</dt>
      <dd>
        <b>{value}</b> <span>{unit}</span>
      </dd>
    </div>
  );
}
