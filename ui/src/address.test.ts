import { expect, it } from "vitest";
import { formatAddress, linkTo, parseAddress } from "./address";

it("every address is the same after parsing and formatting", () => {
  for (const hash of ["#/", "#/map", "#/nodes", "#/nodes/r12n04", "#/incidents/inc-7", "#/jobs/train-7", "#/map?colour=risk&show=3,4&at=r12n04,0.5,1,6"]) {
    expect(formatAddress(parseAddress(hash))).toBe(hash);
  }
});

it("an id may contain separators of addresses", () => {
  const hash = linkTo.job("team/a b?c");
  expect(parseAddress(hash)).toEqual({ page: "job", id: "team/a b?c", query: {} });
});

it("an address that cannot be parsed opens the Now page", () => {
  expect(parseAddress("").page).toBe("now");
  expect(parseAddress("#/nowhere/at/all").page).toBe("now");
  expect(parseAddress("#/nodes/%E0%A4%A").id).toBe("%E0%A4%A");
});
