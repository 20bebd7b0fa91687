import { expect, test } from "vitest";
import { parseParameters, toParameters, withNamesInAddress } from "./parameters.ts";

const values = [
  { name: "number", description: "The number of the order" },
  { name: "email", description: "" },
];

test("values come back from their schema, in which all are required texts", () => {
  const parameters = toParameters(values);
  expect(JSON.parse(parameters)).toEqual({
    type: "object",
    properties: {
      number: { type: "string", description: "The number of the order" },
      email: { type: "string", description: "" },
    },
    required: ["number", "email"],
  });
  expect(parseParameters(parameters)).toEqual(values);
  expect(parseParameters(toParameters([]))).toEqual([]);
});

test.each([
  '{"type":"object"}',
  '{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}',
  "[]",
  "not JSON",
])("the schema %s has no values that the form could show", (parameters) => {
  expect(parseParameters(parameters)).toBeUndefined();
});

test("adds a value for each name in the address that has none", () => {
  const url = "https://shop.example/orders/{number}/{line}?again={line}";
  expect(withNamesInAddress(values, url)).toEqual([...values, { name: "line", description: "" }]);
});
