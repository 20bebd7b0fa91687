import { describe, expect, it } from "vitest";
import { buildCoverage, idsOf, readTests } from "./contract-coverage.ts";

const file = "tests/contract/some.test.ts";
const parts = [
  {
    title: "Part",
    sections: [{ id: "4.1", title: "Chat", sentences: { 1: "First | one.", 2: "Second.", 3: "Third." } }],
  },
];

describe("idsOf", () => {
  it("returns single IDs and expands ranges", () => {
    expect(idsOf("it works [4.1/2] [D10/9-11] [no id] [1]")).toEqual(["4.1/2", "D10/9", "D10/10", "D10/11"]);
  });
});

describe("coverage", () => {
  it("lists each sentence with the tests that prove it", () => {
    const { page, problems } = buildCoverage(
      [
        { title: "all three [4.1/1-3]", file },
        { title: "again [4.1/3]", file },
      ],
      parts,
    );
    expect(problems).toEqual([]);
    expect(page).toContain(`| 4.1/1 | First \\| one. | [all three](${file}) |`);
    expect(page).toContain(`| 4.1/3 | Third. | [all three](${file})<br>[again](${file}) |`);
  });

  it("reports sentences without a test", () => {
    const { page, problems } = buildCoverage([{ title: "two of them [4.1/1-2]", file }], parts);
    expect(problems).toEqual(["4.1/3 has no test"]);
    expect(page).toContain("| 4.1/3 | Third. | **missing** |");
  });

  it("reports two sentences with the same ID", () => {
    const repeated = [
      ...parts,
      { title: "Other part", sections: [{ id: "4.1", title: "Stop", sentences: { 1: "Other." } }] },
    ];
    expect(buildCoverage([{ title: "all [4.1/1-3]", file }], repeated).problems).toEqual([
      "two sentences have the ID 4.1/1",
    ]);
  });

  it("reports titles without a sentence ID and titles with an unknown sentence ID", () => {
    const tests = [
      { title: "all [4.1/1-3]", file },
      { title: "idle", file },
      { title: "wrong [4.1/4] [9/1]", file },
    ];
    expect(buildCoverage(tests, parts).problems).toEqual([
      `${file}: "idle" has no sentence ID`,
      `${file}: "wrong [4.1/4] [9/1]" has the unknown sentence ID 4.1/4`,
      `${file}: "wrong [4.1/4] [9/1]" has the unknown sentence ID 9/1`,
    ]);
  });
});

describe("contract tests", () => {
  it("are read from tests/contract", () => {
    expect(readTests().length).toBeGreaterThan(80);
  });

  it("prove every sentence", () => {
    expect(buildCoverage(readTests()).problems).toEqual([]);
  });
});
