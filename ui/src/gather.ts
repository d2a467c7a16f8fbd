// Merges equal events of many nodes into one line: the first node is named, the others are counted. Pure.

export interface Gathered<T> {
  item: T;
  /** Names of the other nodes with the same event. */
  others: string[];
}

/** Merges items with the same text within `withinMs` milliseconds of the first of them, at the place of the first. */
export function gather<T extends { at: number; node: string | null }>(items: readonly T[], textOf: (item: T) => string, withinMs: number): Gathered<T>[] {
  const gathered: Gathered<T>[] = [];
  const latest = new Map<string, Gathered<T>>();
  for (const item of items) {
    const key = textOf(item);
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

/** Removes a leading node name from a text, where the page already shows the name next to it. */
export function withoutName(text: string, node: string | null): string {
  return node !== null && text.startsWith(`${node} `) ? text.slice(node.length + 1) : text;
}
