import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { readBackends } from "./page/visitors/read-backends.ts";

const read = async (path: string) => readBackends(await readFile(new URL(path, import.meta.url), "utf8"));

test("the screen Visitors has the code of docs/visitors.md, which is tested with each language's interpreter", async () => {
  const shown = await read("page/visitors/backends.md");
  expect(shown.map(({ language }) => language)).toEqual(["Node", "PHP", "Python", "Ruby"]);
  expect(await read("../../docs/visitors.md")).toEqual(shown);
});
