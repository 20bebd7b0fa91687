import { describe, expect, test } from "vitest";
import { failureModeProblems } from "./failure-modes.ts";
import { readSources } from "./repository.ts";

const [source] = [
  {
    path: "tests/edge/suites/a.ts",
    text: [
      'test("a peer is cut: one done, last", async () => {',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the source of a test
      "test(`${READERS} readers that read nothing: each is cut`, async () => {",
      'test.each(NAMES)(\n"the wire to %s is cut, or a byte of it turned over", async (name) => {',
    ].join("\n"),
  },
];
const page = (...rows: string[]) =>
  ["| fault | visitor | you | test |", "| --- | --- | --- | --- |", ...rows].join("\n");
const problems = (...rows: string[]) => failureModeProblems(page(...rows), [source]);

describe("the page of failure modes", () => {
  test("names an existing test in every row", async () => {
    const [modes] = await readSources("docs/operations/failure-modes.md");
    const rows = modes?.text.split("\n").filter((line) => line.startsWith("| ")) ?? [];
    expect(rows.length).toBeGreaterThan(30);
    expect(failureModeProblems(modes?.text ?? "", await readSources("*.test.ts", "tests/*.ts"))).toEqual([]);
  });

  test("is rejected with an unknown test", () => {
    expect(problems("| f | v | o | a peer is cut: one done |")).toEqual([]);
    expect(problems("| f | v | o | a peer is cat |")).toEqual([
      '"f" names no existing test in tests/edge: "a peer is cat"',
    ]);
    expect(problems("| f | v | o | a peer is cut (`tests/usage-accounting`) |")).toHaveLength(1);
    expect(problems("| f | v | o | |")).toHaveLength(1);
    expect(problems("| f | v | o | … |")).toHaveLength(1);
  });

  test("may abbreviate a test title with …", () => {
    expect(problems("| f | v | o | readers that read nothing: each is cut |")).toEqual([]);
    expect(problems("| f | v | o | the wire to … is cut, or a byte |")).toEqual([]);
    expect(problems("| f | v | o | the wire to … is whole |")).toHaveLength(1);
  });

  test("may have tables without a test column", () => {
    const metrics = ["| metric | ordinarily |", "| --- | --- |", "| depth | 0 |"];
    expect(failureModeProblems([...metrics, "", page("| f | v | o | a peer is cut |")].join("\n"), [source])).toEqual(
      [],
    );
    expect(failureModeProblems([page("| f | v | o | |"), "", ...metrics].join("\n"), [source])).toHaveLength(1);
  });

  test("is rejected with an empty cell", () => {
    expect(problems("| f | | o | a peer is cut |")).toHaveLength(1);
    expect(problems("| f | v | | a peer is cut |")).toHaveLength(1);
  });
});
