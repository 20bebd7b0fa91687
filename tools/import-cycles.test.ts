import { expect, test } from "vitest";
import { importCycles } from "./import-cycles.ts";

const file = (path: string, ...imports: string[]) => ({
  path,
  text: imports.map((specifier) => `import type { T } from "${specifier}";`).join("\n"),
});

test("returns the files of a cycle of type-only imports across folders", () => {
  const files = [file("src/a.ts", "./b/b.ts"), file("src/b/b.ts", "../c.ts"), file("src/c.ts", "./a.ts", "node:fs")];
  expect(importCycles(files)).toEqual([["src/a.ts", "src/b/b.ts", "src/c.ts"]]);
});

test("returns two cycles that share no file, one of them a file that imports itself", () => {
  const files = [file("a.ts", "./b.ts"), file("b.ts", "./a.ts", "./c.ts"), file("c.ts", "./c.ts")];
  expect(importCycles(files)).toEqual([["c.ts"], ["a.ts", "b.ts"]]);
});

test("if two cycles share a file, returns them as one group", () => {
  const files = [file("a.ts", "./b.ts"), file("b.ts", "./a.ts", "./c.ts"), file("c.ts", "./b.ts")];
  expect(importCycles(files)).toEqual([["a.ts", "b.ts", "c.ts"]]);
});

test("returns no cycle if two files import a third", () => {
  expect(importCycles([file("a.ts", "./c.ts", "./b.ts"), file("b.ts", "./c.ts"), file("c.ts")])).toEqual([]);
});
