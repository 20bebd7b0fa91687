import { describe, expect, it } from "vitest";
import { blocks, inline, parseBlock, type Tree } from "./markdown.ts";

const parse = (source: string): Tree[] => blocks(source).map((block) => parseBlock(block));

describe("blocks", () => {
  it("are paragraphs between blank lines, with their line breaks", () => {
    expect(parse("one\ntwo\n\n\nthree")).toEqual([
      ["p", ["one\ntwo"]],
      ["p", ["three"]],
    ]);
  });

  it("are headings of every level, rules and quotes", () => {
    expect(parse("# One\n#### *Two* ##\n---\n> three\n> four\nfive")).toEqual([
      ["h3", ["One"]],
      ["h3", [["em", ["Two"]]]],
      ["hr", []],
      ["blockquote", [["p", ["three\nfour"]]]],
      ["p", ["five"]],
    ]);
  });

  it("keep code as it is, closed or still being written", () => {
    const code = (text: string): Tree => ["pre", [["code", [text]]]];
    expect(parse("```js\na **b**\n\n# c\n```\nafter")).toEqual([code("a **b**\n\n# c"), ["p", ["after"]]]);
    expect(parse("~~~\nopen\n")).toEqual([code("open")]);
  });

  it("are lists, tight or loose, with nested ones and the number they start with", () => {
    expect(parse("3. one\n4. two\n   - a\n   - b\n\n5. three\n\nafter")).toEqual([
      [
        "ol",
        [
          ["li", ["one"]],
          [
            "li",
            [
              "two",
              [
                "ul",
                [
                  ["li", ["a"]],
                  ["li", ["b"]],
                ],
              ],
            ],
          ],
          ["li", ["three"]],
        ],
        "3",
      ],
      ["p", ["after"]],
    ]);
  });

  it("begin a list within a paragraph only where one is meant", () => {
    expect(parse("Things:\n- a\n* b")).toEqual([
      ["p", ["Things:"]],
      ["ul", [["li", ["a"]]]],
      ["ul", [["li", ["b"]]]],
    ]);
    expect(parse("It was in\n1984. A year.")).toEqual([["p", ["It was in\n1984. A year."]]]);
  });

  it("that came before never change as text is appended", () => {
    const source = "Intro\n- a\n- b\n\n  more\n\n```\ncode\n\n```\n> quote\n\n1. x\n2. y\n\nend **bold**";
    for (let length = 1; length < source.length; length++) {
      const before = blocks(source.slice(0, length)).slice(0, -1);
      const after = blocks(source.slice(0, length + 1));
      expect(after.slice(0, before.length)).toEqual(before);
    }
  });
});

describe("inline text", () => {
  it("knows emphasis and code", () => {
    expect(inline("a **b *c* d** __e__ _f_ ***g*** `h *i*` ``j`k``")).toEqual([
      "a ",
      ["strong", ["b ", ["em", ["c"]], " d"]],
      " ",
      ["strong", ["e"]],
      " ",
      ["em", ["f"]],
      " ",
      ["em", [["strong", ["g"]]]],
      " ",
      ["code", ["h *i*"]],
      " ",
      ["code", ["j`k"]],
    ]);
  });

  it.each([
    "2 * 3 * 4",
    "snake_case_name",
    "a ** b ** c",
    "**open",
    "`open",
    "\\*",
    "[a]",
    "[a](b",
    "<b>x</b>",
    "&amp;",
  ])("leaves %s as text", (source) => {
    expect(inline(source)).toEqual([source.replace("\\*", "*")]);
  });

  it("links to http, https and mailto addresses", () => {
    expect(inline("[a *b*](https://x.example/a_(b)?c=d*e) [m](mailto:a@b.example)")).toEqual([
      ["a", ["a ", ["em", ["b"]]], "https://x.example/a_(b)?c=d*e"],
      " ",
      ["a", ["m"], "mailto:a@b.example"],
    ]);
  });

  it("links to bare addresses without the punctuation after them", () => {
    expect(inline("(see https://x.example/a?b=1&c=2). Not xhttps://y.example")).toEqual([
      "(see ",
      ["a", ["https://x.example/a?b=1&c=2"], "https://x.example/a?b=1&c=2"],
      "). Not xhttps://y.example",
    ]);
  });

  it.each([
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "data:text/html,x",
    "//x.example",
    "/path",
    "vbscript:x",
    " javascript:x",
  ])("never links to %s", (url) => {
    expect(JSON.stringify(parse(`[a](${url})`))).not.toContain('"a",["a"]');
  });

  it("shows an image as a link, so that nothing is fetched", () => {
    expect(inline("![a](https://x.example/i.png)")).toEqual(["!", ["a", ["a"], "https://x.example/i.png"]]);
  });

  it.each(["*a ", "- 1. ", "[[", "**a _b ", "_a ", "`a ", "[", "[a](", "**a*", "https://", "- ", "> "])(
    "takes a hostile repetition of %s in stride",
    (piece) => {
      const source = piece.repeat(4000);
      const startedAt = performance.now();
      parse(source);
      expect(performance.now() - startedAt).toBeLessThan(1500);
    },
  );
});
