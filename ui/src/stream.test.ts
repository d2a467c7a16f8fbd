import { expect, it } from "vitest";
import { backoff, BACKOFF_MS_MAX, EventSplitter } from "./stream";

it("events are found wherever the stream is split", () => {
  const text = ': hello\n\nevent: fleet\ndata: {"now":1}\n\nevent: reload\ndata: {}\n\n';
  for (let cut = 0; cut <= text.length; cut += 1) {
    const splitter = new EventSplitter();
    const events = [...splitter.push(text.slice(0, cut)), ...splitter.push(text.slice(cut))];
    expect(events).toEqual([
      { event: "fleet", data: '{"now":1}' },
      { event: "reload", data: "{}" },
    ]);
  }
});

it("data on several lines is one text", () => {
  expect(new EventSplitter().push("event: nodes\r\ndata: [\r\ndata: ]\r\n\r\n")).toEqual([{ event: "nodes", data: "[\n]" }]);
});

it("the wait before reconnecting grows and is bounded", () => {
  expect(backoff(0, 0)).toBe(250);
  expect(backoff(1, 1)).toBe(1000);
  for (let failures = 0; failures < 100; failures += 1) {
    expect(backoff(failures, 1)).toBeLessThanOrEqual(BACKOFF_MS_MAX);
    expect(backoff(failures, 0)).toBeGreaterThan(0);
  }
});
