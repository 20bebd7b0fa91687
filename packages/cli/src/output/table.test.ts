import { describe, expect, it } from "vitest";
import { formatCount, formatFields, formatTable } from "./table.ts";

describe("formatTable", () => {
  it("aligns columns, right-aligns numbers and counts the width of a wide character as 2", () => {
    const rows = [
      ["acme", 5_000],
      ["商店", 25],
    ];
    expect(formatTable(["name", "used"], rows, "none")).toBe(
      ["NAME   USED", "acme  5,000", "商店     25", ""].join("\n"),
    );
  });

  it("escapes line breaks and control characters in cells", () => {
    expect(formatTable(["name"], [["a\n\u001b]0;owned\u0007"]], "none")).toBe("NAME\na\\n\\u{1b}]0;owned\\u{7}\n");
  });

  it("truncates a long cell at a grapheme boundary", () => {
    const [, row = ""] = formatTable(["text"], [["👩‍💻".repeat(50)]], "none").split("\n");
    expect(row).toBe(`${"👩‍💻".repeat(29)}…`);
  });

  it("prints the given message if there are no rows", () => {
    expect(formatTable(["name"], [], "No bots yet.")).toBe("No bots yet.\n");
  });
});

describe("formatCount", () => {
  it.each([
    [0, "0 turns"],
    [1, "1 turn"],
    [1_234, "1,234 turns"],
    [null, "– turns"],
  ])("formats %j as %j", (amount, expected) => {
    expect(formatCount(amount, "turn")).toBe(expected);
  });

  it("uses the given plural", () => {
    expect([1, 2].map((amount) => formatCount(amount, "turn or hold", "turns and holds"))).toEqual([
      "1 turn or hold",
      "2 turns and holds",
    ]);
  });
});

describe("formatFields", () => {
  it("prints one labelled value per line", () => {
    expect(
      formatFields([
        ["plan", "free"],
        ["used", 1_234],
        ["fallback", ""],
      ]),
    ).toBe("plan      free\nused      1,234\nfallback\n");
  });
});
