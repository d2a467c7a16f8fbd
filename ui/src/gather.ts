// What happens to many nodes for one reason is told once: the first node speaks, the others are counted. Pure.

export interface Gathered<T> {
  item: T;
  /** Beside the item's own node. */
  others: string[];
}

/** Items that say the same within so many milliseconds of the first of them become one, at that first one's place. */
export function gather<T extends { at: number; node: string | null }>(items: readonly T[], says: (item: T) => string, withinMs: number): Gathered<T>[] {
  const gathered: Gathered<T>[] = [];
  const latest = new Map<string, Gathered<T>>();
  for (const item of items) {
    const key = says(item);
    const known = latest.get(key);
    if (known !== undefined && item.node !== null && known.item.node !== null && Math.abs(item.at - known.item.at) <= withinMs) {
      if (item.node !== known.item.node && !known.others.includes(item.node)) known.others.push(item.node);
      continue;
    }
    const made = { item, others: [] };
    latest.set(key, made);
    gathered.push(made);
  }
  return gathered;
}

/** A text about a node without that node's name in front, because the name stands beside it. */
export function withoutName(text: string, node: string | null): string {
  return node !== null && text.startsWith(`${node} `) ? text.slice(node.length + 1) : text;
}
