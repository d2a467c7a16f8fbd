import { readFileSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { schemaText, type OpenApi } from "./schema-text";

const file = new URL("./schema.ts", import.meta.url);
const document = new URL("../../docs/reference/openapi.json", import.meta.url);

it("the types match the OpenAPI document; UPDATE=1 writes them again", () => {
  const wanted = schemaText(JSON.parse(readFileSync(document, "utf8")) as OpenApi);
  if (process.env["UPDATE"] === "1") writeFileSync(file, wanted);
  expect(readFileSync(file, "utf8")).toBe(wanted);
});
