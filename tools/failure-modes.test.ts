import { describe, expect, test } from "vitest";
import { failureModeProblems } from "./failure-modes.ts";
import { readSources } from "./repository.ts";

const source = {
  path: "tests/edge/suites/a.ts",
  text: [
    'test("a stream ends with done when a peer is cut", async () => {',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the string is the source of a test
    "test(`${READERS} clients that do not read: the edge cuts each`, async () => {",
    'test.each(NAMES)(\n"a visitor gets a 503 when the connection to %s is cut", async (name) => {',
  ].join("\n"),
};
const page = (...rows: string[]) =>
  ["| fault | visitor | you | test |", "| --- | --- | --- | --- |", ...rows].join("\n");
const problems = (...rows: string[]) => failureModeProblems(page(...rows), [source]);

describe("failure modes page", () => {
  test("names an existing test in every row", async () => {
    const [modes] = await readSources("docs/operations/failure-modes.md");
    const rows = modes?.text.split("\n").filter((line) => line.startsWith("| ")) ?? [];
    expect(rows.length).toBeGreaterThan(30);
    expect(failureModeProblems(modes?.text ?? "", await readSources("*.test.ts", "tests/*.ts"))).toEqual([]);
  });

  test("is rejected if a row names no existing test", () => {
    expect(problems("| f | v | o | a stream ends with dune |")).toEqual([
      '"f" names no existing test in tests/edge: "a stream ends with dune"',
    ]);
    expect(problems("| f | v | o | a stream ends with done (`tests/usage-accounting`) |")).toHaveLength(1);
    expect(problems("| f | v | o | |")).toHaveLength(1);
    expect(problems("| f | v | o | … |")).toHaveLength(1);
  });

  test("may quote a part of a test title, and abbreviate it with …", () => {
    expect(problems("| f | v | o | a stream ends with done when a peer |")).toEqual([]);
    expect(problems("| f | v | o | clients that do not read: the edge cuts each |")).toEqual([]);
    expect(problems("| f | v | o | the connection to … is cut |")).toEqual([]);
    expect(problems("| f | v | o | the connection to … is open |")).toHaveLength(1);
  });

  test("may have tables without a test column", () => {
    const metrics = ["| metric | normal |", "| --- | --- |", "| depth | 0 |"];
    expect(
      failureModeProblems([...metrics, "", page("| f | v | o | a stream ends with done |")].join("\n"), [source]),
    ).toEqual([]);
    expect(failureModeProblems([page("| f | v | o | |"), "", ...metrics].join("\n"), [source])).toHaveLength(1);
  });

  test("is rejected with an empty cell", () => {
    expect(problems("| f | | o | a stream ends with done |")).toHaveLength(1);
    expect(problems("| f | v | | a stream ends with done |")).toHaveLength(1);
  });
});
