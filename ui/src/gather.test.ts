import { expect, it } from "vitest";
import { gather, withoutName } from "./gather";

const event = (at: number, node: string | null, text: string) => ({ at, node, text });

it("equal events of many nodes become one line", () => {
  const all = [event(0, "a", "down"), event(1, "b", "down"), event(1, null, "shared cause"), event(2, "c", "down")];
  expect(gather(all, (item) => item.text, 60)).toEqual([
    { item: all[0], others: ["b", "c"] },
    { item: all[2], others: [] },
  ]);
});

it("later events, and events without a node, stay separate", () => {
  const all = [event(0, "a", "down"), event(100, "b", "down"), event(0, null, "saved"), event(0, null, "saved")];
  expect(gather(all, (item) => item.text, 60).map(({ others }) => others)).toEqual([[], [], [], []]);
});

it("a node name is not repeated", () => {
  expect(withoutName("r1n1 leaves service", "r1n1")).toBe("leaves service");
  expect(withoutName("leaves service", null)).toBe("leaves service");
});
