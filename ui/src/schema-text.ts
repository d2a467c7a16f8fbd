// Generates types from the schemas of the OpenAPI document. Responses contain every field, so an optional field is null and
// not absent. Pure; `schema.test.ts` checks that `schema.ts` is up to date.

interface Schema {
  $ref?: string;
  type?: string | string[];
  const?: string;
  description?: string;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  minItems?: number;
  maxItems?: number;
  anyOf?: Schema[];
  oneOf?: Schema[];
}

export interface OpenApi {
  components: { schemas: Record<string, Schema> };
}

const HEAD = "// Generated from docs/reference/openapi.json by `UPDATE=1 npm test`; do not edit.\n";

export function schemaText({ components }: OpenApi): string {
  const named = Object.entries(components.schemas).sort(([a], [b]) => (a < b ? -1 : 1));
  return [HEAD, ...named.map(([name, schema]) => declared(name, schema))].join("\n");
}

function declared(name: string, schema: Schema): string {
  if (schema.properties === undefined) return `export type ${name} = ${typeOf(schema)};\n`;
  const fields = Object.entries(schema.properties).sort(([a], [b]) => (a < b ? -1 : 1));
  return `export interface ${name} {\n${fields.map(([field, type]) => `  ${field}: ${typeOf(type)};\n`).join("")}}\n`;
}

function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return schema.$ref.split("/").at(-1) ?? "never";
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  const either = schema.oneOf ?? schema.anyOf;
  if (either !== undefined) return either.map(typeOf).join(" | ");
  const types = Array.isArray(schema.type) ? schema.type : [schema.type ?? "unknown"];
  return types.map((type) => plain(type, schema)).join(" | ");
}

function plain(type: string, schema: Schema): string {
  switch (type) {
    case "integer":
      return "number";
    case "array":
      return list(schema);
    case "object":
      return typeof schema.additionalProperties === "object" ? `Record<string, ${typeOf(schema.additionalProperties)}>` : "object";
    default:
      return type;
  }
}

function list({ items = {}, minItems, maxItems }: Schema): string {
  const one = typeOf(items);
  if (minItems !== undefined && minItems === maxItems) return `[${Array.from({ length: minItems }, () => one).join(", ")}]`;
  return one.includes("|") ? `(${one})[]` : `${one}[]`;
}
