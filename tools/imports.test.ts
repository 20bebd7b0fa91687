import { expect, test } from "vitest";
import { importsOf } from "./imports.ts";

test.each([
  ['import a from "x";', []],
  ['import { b, c as d } from "x";', ["b", "c"]],
  ['import a, { b } from "x";', ["b"]],
  ['import a, { type T, b } from "x";', ["b"]],
  ['import a, * as all from "x";', []],
  ['import * as all from "x";', []],
  ['export { b } from "x";', ["b"]],
  ['export * from "x";', []],
  ['await import("x");', []],
  ['import "x";', []],
])("finds the specifier and the named imports of %s", (text, names) => {
  expect(importsOf(text)).toEqual([{ specifier: "x", isTypeOnly: false, names }]);
});

test("an import whose braces contain only types is type-only, unless it also has a default import", () => {
  expect(importsOf('import a, { type T } from "x";')).toEqual([{ specifier: "x", isTypeOnly: false, names: [] }]);
  expect(importsOf('import { type T } from "x";')).toEqual([{ specifier: "x", isTypeOnly: true, names: [] }]);
});
