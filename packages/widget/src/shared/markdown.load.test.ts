import { describe, expect, it } from "vitest";
import { parseBlocks } from "./markdown.ts";

/** CPU time, because the wall-clock time would depend on the machine's other work. */
function cpuMsOf(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

describe("a hostile text", () => {
  it.each([
    ...[
      "### # # ",
      "# ",
      "#",
      "*a ",
      "a*",
      "**a *b ",
      "***",
      "_a ",
      "(_(",
      "_a b_ ",
      "_*a",
      "**_a ",
      "* b* ",
      "`a ",
      "``` ",
      "`",
      "~~~\n",
    ],
    ...[
      "[",
      "[[",
      "[a](",
      "[a](b ",
      "[a](b 'c ",
      "](",
      "](a(b)",
      "[a]( ",
      "(a",
      "https://",
      "https://.",
      "h",
      "\\",
      "\\[",
      "![",
      "![a](",
      "[a](<",
      "[a](b (",
      '[a](b "',
      "[[a](b)](c)",
      "https://a(",
      "https://a)",
      "https://a[(",
      "https://a....",
      "https://a!!!! ",
      "https://日",
      "www.",
      "www.a",
      "<https://",
      "<a@",
      "a@",
      "a@b.",
      "a@b-",
      "a.",
      "~~",
      "~~a ",
      "a~~",
      "&amp;",
      "&#",
      "<br>",
      "<br",
    ],
    ...[
      "- ",
      "- 1. ",
      "1. a\n",
      "-\n",
      "- a\n\n",
      "  - a\n",
      "> ",
      "> a\n",
      ">\n- ",
      "- - - x",
      "* * ",
      "_ _ _a",
      "a\n\n",
      "\n",
      " ",
      "\t",
      "|",
      "| ",
      "|-",
      "|-\n",
      "|a|\n|-|\n",
      "|a|b|\n|-|-|\n|",
      "-|",
      ":-",
      "> |a|\n> |-|\n",
    ],
  ])("of 256 KB is parsed in less than 2 s of CPU time if it repeats %j", (piece) => {
    const source = `${piece.repeat(262_144 / piece.length)}x`;
    expect(cpuMsOf(() => parseBlocks(source))).toBeLessThan(2000);
  });

  it.each(["### # # ", "*a ", "[a](b ", "1. a\n"])(
    "of 16 KB that repeats %j is parsed 50 times in less than 4 s of CPU time, once after each appended word",
    (piece) => {
      const source = piece.repeat(16_384 / piece.length);
      const parseEach = () => {
        for (let words = 1; words <= 50; words++) {
          parseBlocks(source + "word ".repeat(words));
        }
      };
      expect(cpuMsOf(parseEach)).toBeLessThan(4000);
    },
  );

  it("of a table with many columns and many short rows is parsed in less than 2 s of CPU time", () => {
    const source = `${"|a".repeat(20_000)}|\n${"|-".repeat(20_000)}|\n${"|\n".repeat(60_000)}`;
    expect(cpuMsOf(() => parseBlocks(source))).toBeLessThan(2000);
  });

  it("of one long line of backticks and letters is parsed in less than 2 s of CPU time", () => {
    const source = `${"`".repeat(100_000)}${"a".repeat(100_000)}\``;
    expect(cpuMsOf(() => parseBlocks(source))).toBeLessThan(2000);
  });

  it("of ever shorter runs of backticks is parsed in less than 2 s of CPU time", () => {
    const source = `a${Array.from({ length: 720 }, (_, at) => "`".repeat(720 - at)).join("a")}`;
    expect(cpuMsOf(() => parseBlocks(source))).toBeLessThan(2000);
  });

  it("of a megabyte in one block does not overflow the stack", () => {
    for (const piece of [
      "*a",
      "[",
      "[a](https://b.example)",
      "> ",
      "`a`",
      "**a** ",
      "https://a",
      "(a@b.example",
      "|a",
    ]) {
      expect(parseBlocks(piece.repeat(1_000_000 / piece.length))).toHaveLength(1);
    }
  });
});
