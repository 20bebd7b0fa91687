import { describe, expect, it } from "vitest";
import { parseBlocks, parseInline, splitBlocks, type Tree } from "./markdown.ts";

describe("splitBlocks and parseBlocks", () => {
  it("separates paragraphs at blank lines and keeps their line breaks", () => {
    expect(parseBlocks("one\ntwo\n\n\nthree")).toEqual([
      ["p", ["one\ntwo"]],
      ["p", ["three"]],
    ]);
  });

  it("parses headings of levels 1 and 4 as h3, and parses horizontal rules and quotes", () => {
    expect(parseBlocks("# One\n#### *Two* ##\n---\n> three\n> four\nfive")).toEqual([
      ["h3", ["One"]],
      ["h3", [["em", ["Two"]]]],
      ["hr", []],
      ["blockquote", [["p", ["three\nfour"]]]],
      ["p", ["five"]],
    ]);
  });

  it("parses nothing inside a code fence, closed or not", () => {
    const code = (text: string): Tree => ["pre", [["code", [text]]]];
    expect(parseBlocks("```js\na **b**\n\n# c\n```\nafter")).toEqual([code("a **b**\n\n# c"), ["p", ["after"]]]);
    expect(parseBlocks("~~~\nopen\n")).toEqual([code("open")]);
  });

  it("parses tight, loose and nested lists with their start number", () => {
    expect(parseBlocks("3. one\n4. two\n   - a\n   - b\n\n5. three\n\nafter")).toEqual([
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

  it("starts a list within a paragraph at a bullet, but not at a number other than 1", () => {
    expect(parseBlocks("Things:\n- a\n* b")).toEqual([
      ["p", ["Things:"]],
      ["ul", [["li", ["a"]]]],
      ["ul", [["li", ["b"]]]],
    ]);
    expect(parseBlocks("It was in\n1984. A year.")).toEqual([["p", ["It was in\n1984. A year."]]]);
  });

  it("leaves all blocks but the last unchanged when text is appended", () => {
    const source = "Intro\n- a\n- b\n\n  more\n\n```\ncode\n\n```\n> quote\n\n1. x\n2. y\n\nend **bold**";
    for (let length = 1; length < source.length; length++) {
      const before = splitBlocks(source.slice(0, length)).slice(0, -1);
      const after = splitBlocks(source.slice(0, length + 1));
      expect(after.slice(0, before.length)).toEqual(before);
    }
  });
});

describe("parseInline", () => {
  it("parses emphasis and code", () => {
    expect(parseInline("a **b *c* d** __e__ _f_ ***g*** `h *i*` ``j`k``")).toEqual([
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
    "имя_файла_пользователя",
    "größe_ä_b",
    "नमस्ते_ते_दुनिया",
    "٢٠٢٤_١٢_٣١",
    'a_"b"_',
    "_a!_b",
    "____ ****",
    "a ** b ** c",
    "**open",
    "`open",
    "\\*",
    "[a]",
    "[a](b",
    "<b>x</b>",
    "&amp;",
  ])("leaves %s as text", (source) => {
    expect(parseInline(source)).toEqual([source.replace("\\*", "*")]);
  });

  it("parses links to http, https and mailto addresses", () => {
    expect(parseInline("[a *b*](https://x.example/a_(b)?c=d*e) [m](mailto:a@b.example)")).toEqual([
      ["a", ["a ", ["em", ["b"]]], "https://x.example/a_(b)?c=d*e"],
      " ",
      ["a", ["m"], "mailto:a@b.example"],
    ]);
  });

  it("turns bare addresses into links, without the punctuation after them", () => {
    expect(parseInline("(see https://x.example/a?b=1&c=2). Not xhttps://y.example")).toEqual([
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
  ])("does not link to %s", (url) => {
    expect(JSON.stringify(parseBlocks(`[a](${url})`))).not.toContain('"a",["a"]');
  });

  it("turns an image into a link, so that the browser fetches nothing", () => {
    expect(parseInline("![a](https://x.example/i.png)")).toEqual(["!", ["a", ["a"], "https://x.example/i.png"]]);
  });

  it("parses adjacent emphasis marks, and brackets inside links", () => {
    expect(parseInline("**a *b*** ***c** d* _e __f___ [[1]](https://x.example)")).toEqual([
      ["strong", ["a ", ["em", ["b"]]]],
      " ",
      ["em", [["strong", ["c"]], " d"]],
      " ",
      ["em", ["e ", ["strong", ["f"]]]],
      " ",
      ["a", ["[1]"], "https://x.example"],
    ]);
  });

  it.each([
    ["**_note_**", "strong", "em"],
    ["_**note**_", "em", "strong"],
    ["*__note__*", "em", "strong"],
    ["__*note*__", "strong", "em"],
  ] as const)("parses %s, whose marks are of two kinds", (source, outer, inner) => {
    expect(parseInline(`a 😀${source}.`)).toEqual(["a 😀", [outer, [[inner, ["note"]]]], "."]);
  });
});
