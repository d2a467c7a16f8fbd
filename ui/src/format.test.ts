import { describe, expect, it } from "vitest";
import { ago, budgetPercent, count, gpuHours, inWords, kindWord, milli, moment, money, share, span } from "./format";

const usd = { perGpuHour: 2.5, sign: "$" };

describe("amounts", () => {
  it("GPU-hours have one decimal below 100", () => {
    expect(gpuHours(0)).toBe("0");
    expect(gpuHours(60)).toBe("<0.1");
    expect(gpuHours(1440)).toBe("0.4");
    expect(gpuHours(8 * 3600)).toBe("8");
    expect(gpuHours(27.4 * 3600)).toBe("27.4");
    expect(gpuHours(118.4 * 3600)).toBe("118");
    expect(gpuHours(1_184 * 3600)).toBe("1,184");
  });

  it("money follows the price of a GPU-hour", () => {
    expect(money(3600, usd)).toBe("$2.50");
    expect(money(118 * 3600, usd)).toBe("$295");
    expect(money(0, usd)).toBe("$0");
  });

  it("shares keep at most two significant decimals", () => {
    expect(share(0)).toBe("0 %");
    expect(share(40)).toBe("<0.01 %");
    expect(share(1_500)).toBe("0.15 %");
    expect(share(15_000)).toBe("1.5 %");
    expect(share(230_000)).toBe("23 %");
  });

  it("counts are grouped", () => expect(count(100_000)).toBe("100,000"));
});

describe("time", () => {
  it("a duration has at most two units", () => {
    expect(span(300)).toBe("0.3 s");
    expect(span(42_000)).toBe("42 s");
    expect(span(200_000)).toBe("3 min 20 s");
    expect(span(2 * 3_600_000 + 5 * 60_000)).toBe("2 h 5 min");
    expect(span(4 * 86_400_000)).toBe("4 d");
  });

  it("a duration never shows time that has not passed", () => {
    expect(span(59_900)).toBe("59 s");
    expect(span(119_700)).toBe("1 min 59 s");
    expect(span(3_599_800)).toBe("59 min 59 s");
  });

  it("times are relative, with the exact time available", () => {
    expect(ago(1_000, 61_000)).toBe("1 min ago");
    expect(ago(61_000, 1_000)).toBe("in 1 min");
    expect(moment(0)).toBe("1970-01-01 00:00:00 UTC");
  });
});

it("values of the API become plain words, and abbreviations keep their capitals", () => {
  expect(inWords("InService")).toBe("in service");
  expect(kindWord("Rack")).toBe("rack");
  expect(kindWord("Pdu")).toBe("PDU");
  expect(kindWord("NvlinkDomain")).toBe("NVLink domain");
});

it("a budget is in percent and may be below zero", () => {
  expect(budgetPercent(756_945)).toBe("75.7 %");
  expect(budgetPercent(-250_000)).toBe("-25 %");
  expect(milli(28_800)).toBe("28.8");
});
