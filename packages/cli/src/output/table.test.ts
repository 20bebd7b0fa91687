import { describe, expect, it } from "vitest";
import { fields, table } from "./table.ts";

describe("table", () => {
  it("aligns what people read, numbers to the right, wide letters counted as two", () => {
    const rows = [
      ["acme", 5_000],
      ["商店", 25],
    ];
    expect(table(["name", "used"], rows, "none")).toBe(["NAME   USED", "acme  5,000", "商店     25", ""].join("\n"));
  });

  it("keeps a row on its line and the terminal out of stored text's hands", () => {
    expect(table(["name"], [["a\n\u001b]0;owned\u0007"]], "none")).toBe("NAME\na\\n\\u{1b}]0;owned\\u{7}\n");
  });

  it("cuts a long cell where a letter ends", () => {
    const [, row = ""] = table(["text"], [["👩‍💻".repeat(50)]], "none").split("\n");
    expect(row).toBe(`${"👩‍💻".repeat(29)}…`);
  });

  it("says what an empty list means", () => {
    expect(table(["name"], [], "No bots yet.")).toBe("No bots yet.\n");
  });
});

describe("fields", () => {
  it("puts one labelled value on a line", () => {
    expect(
      fields([
        ["plan", "free"],
        ["used", 1_234],
        ["fallback", ""],
      ]),
    ).toBe("plan      free\nused      1,234\nfallback\n");
  });
});
