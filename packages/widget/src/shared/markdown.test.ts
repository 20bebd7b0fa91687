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

  it("parses a paragraph that starts with three backticks of inline code", () => {
    expect(parseBlocks("```a``` b")).toEqual([["p", [["code", ["a"]], " b"]]]);
    expect(parseBlocks("```")).toEqual([["pre", [["code", [""]]]]]);
  });

  it("parses a table with its alignments, in a box that is labelled with its headers", () => {
    const table = parseBlocks(
      "Plans:\n| Plan | *Price* | `a\\|b` | |\n|:--|--:|:-:|---|\n| Free | 0<br>€ |\n|[x](https://x.example/)|1|2|3|4|\nPro | 9\n\nAfter",
    );
    expect(table).toEqual([
      ["p", ["Plans:"]],
      [
        "div",
        [
          [
            "table",
            [
              [
                "thead",
                [
                  [
                    "tr",
                    [
                      ["th", ["Plan"], "left"],
                      ["th", [["em", ["Price"]]], "right"],
                      ["th", [["code", ["a|b"]]], "center"],
                      ["th", [], ""],
                    ],
                  ],
                ],
              ],
              [
                "tbody",
                [
                  [
                    "tr",
                    [
                      ["td", ["Free"], "left"],
                      ["td", ["0\n€"], "right"],
                    ],
                  ],
                  [
                    "tr",
                    [
                      ["td", [["a", ["x"], "https://x.example/"]], "left"],
                      ["td", ["1"], "right"],
                      ["td", ["2"], "center"],
                      ["td", ["3"], ""],
                    ],
                  ],
                  [
                    "tr",
                    [
                      ["td", ["Pro"], "left"],
                      ["td", ["9"], "right"],
                    ],
                  ],
                ],
              ],
            ],
          ],
        ],
        "Plan, Price, a|b, ",
      ],
      ["p", ["After"]],
    ]);
  });

  it("parses tables in quotes and list items, and ends a table before a heading", () => {
    const tags = (source: string) =>
      parseBlocks(source).map(([tag, children]) => [tag, ...children.map(([each]) => each)]);
    expect(tags("> |a|b|\n> |-|-|\n> |1|2|")).toEqual([["blockquote", "div"]]);
    expect(tags("- x\n  |a|\n  |-|").flat()).toEqual(["ul", "li"]);
    expect(JSON.stringify(parseBlocks("- x\n  |a|\n  |-|"))).toContain('["li",["x",["div",[["table"');
    expect(tags("|a|\n|-|\n|1|\n# b")).toEqual([
      ["div", "table"],
      ["h3", "b"],
    ]);
  });

  it.each(["a | b\nc | d", "| a | b |\n|---|", "a\n---|---", "| a |\n---", "|a|b|\n|-|x|"])(
    "makes no table of %j",
    (source) => {
      expect(JSON.stringify(parseBlocks(source))).not.toContain('"table"');
    },
  );

  it("leaves all blocks but the last unchanged when text is appended", () => {
    const source =
      "Intro\n- a\n- b\n\n  more\n\n```\ncode\n\n```\n> quote\n\n1. x\n2. y\n\nSee:\n| a | b |\n|:-|-|\n| 1 | 2 |\n\nend **bold**";
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
    "&unknown; & &#0; &#xd800; &#1114112;",
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
    "",
  ])("does not link to %s", (url) => {
    expect(JSON.stringify(parseBlocks(`[a](${url})`))).not.toContain('"a",["a"]');
  });

  it.each([
    "javascript:alert(1)",
    "JavaScript:alert(1)",
    "\u0001javascript:alert(1)",
    "data:text/html,x",
    "vbscript:x",
    "blob:x",
    "file:///etc/passwd",
    "intent://x",
  ])("on a page, links in no form to %j", (url) => {
    for (const source of [`[a](${url})`, `[a](<${url}>)`, `![a](${url})`, `<${url}>`, url, `[a](${url} "b")`]) {
      expect(JSON.stringify(parseBlocks(source, "https://shop.example/"))).not.toContain('["a",');
    }
  });

  it.each([
    ["/returns", "https://shop.example/returns"],
    ["../faq?x=1#y", "https://shop.example/faq?x=1#y"],
    ["size.html", "https://shop.example/help/size.html"],
    ["#terms", "https://shop.example/help/index.html#terms"],
    ["//cdn.example/x", "https://cdn.example/x"],
    ["tel:+4930123456", "tel:+4930123456"],
    ["mailto:a@b.example?subject=x", "mailto:a@b.example?subject=x"],
  ])("resolves a link to %s against the page's address", (url, href) => {
    expect(parseInline(`[a](${url})`, "https://shop.example/help/index.html")).toEqual([["a", ["a"], href]]);
  });

  it.each([
    ['[a](https://x.example/b "T (t)")', "https://x.example/b"],
    ["[a](https://x.example/b 'T')", "https://x.example/b"],
    ["[a](https://x.example/b (T))", "https://x.example/b"],
    ["[a](<https://x.example/b c>)", "https://x.example/b%20c"],
    ["[a]( https://x.example/b )", "https://x.example/b"],
    ["[a](https://x.example/b_(c)_d)", "https://x.example/b_(c)_d"],
    ["[a](https://x.example/*b*?c=_d_&e=~~f~~)", "https://x.example/*b*?c=_d_&e=~~f~~"],
  ])("parses the link %s", (source, href) => {
    expect(parseInline(source)).toEqual([["a", ["a"], href]]);
  });

  it("parses links before bare addresses, so that an address in a link's text is only text", () => {
    expect(parseInline("[https://x.example/a](https://y.example/b), [me@x.example](mailto:you@x.example)")).toEqual([
      ["a", ["https://x.example/a"], "https://y.example/b"],
      ", ",
      ["a", ["me@x.example"], "mailto:you@x.example"],
    ]);
  });

  it.each([
    "https://x.example/a",
    "https://en.wikipedia.example/wiki/Tee_(drink)",
    "https://x.example/?a[]=1&b[(c)]=2",
    "https://x.example/a_b_c/~user/it's",
    "http://[::1]:8080/a",
    "https://müller.example/größe",
    "https://ja.example/wiki/日本語",
    "https://x.example/%E6%97%A5?q=a,b;c:d!e.f",
  ])("makes the whole of %s a link, whatever follows it", (url) => {
    const { href } = new URL(url);
    const link = ["a", [url], href];
    const ends = [" a", ".", ",", "!", "?", ";", ":", "…", "'", '"', ")", ").", "]", ">", "<", "`", "\n"];
    const foreignEnds = [
      "。",
      "、",
      "」",
      "』",
      "）",
      "】",
      "，",
      "；",
      "：",
      "！",
      "？",
      "،",
      "؟",
      "؛",
      "»",
      "”",
      "’",
      "›",
      "\u200f",
      "😀",
    ];
    for (const end of [...ends, ...foreignEnds]) {
      expect(parseInline(`「${url}${end}`)).toEqual(["「", link, end]);
    }
    expect(parseInline(`**${url}** _${url}_ ~~${url}~~ (${url}) [${url}]`)).toEqual([
      ["strong", [link]],
      " ",
      ["em", [link]],
      " ",
      ["del", [link]],
      " (",
      link,
      ") [",
      link,
      "]",
    ]);
  });

  it.each(["をご覧ください", "에서 확인", "查看"])("ends an address before %s", (text) => {
    expect(parseInline(`https://x.example/help${text}`)).toEqual([
      ["a", ["https://x.example/help"], "https://x.example/help"],
      text,
    ]);
  });

  it("makes addresses in angle brackets, www. addresses and email addresses links", () => {
    expect(
      parseInline("<https://x.example/a_b_c>, <me@x.example>, <tel:+49301>. WWW.x.example/a! Not www. or <b>"),
    ).toEqual([
      ["a", ["https://x.example/a_b_c"], "https://x.example/a_b_c"],
      ", ",
      ["a", ["me@x.example"], "mailto:me@x.example"],
      ", ",
      ["a", ["tel:+49301"], "tel:+49301"],
      ". ",
      ["a", ["WWW.x.example/a"], "https://www.x.example/a"],
      "! Not www. or <b>",
    ]);
    expect(parseInline("Write to **first_last+x@mail.x.example**. `a@b.example` @b a@b")).toEqual([
      "Write to ",
      ["strong", [["a", ["first_last+x@mail.x.example"], "mailto:first_last+x@mail.x.example"]]],
      ". ",
      ["code", ["a@b.example"]],
      " @b a@b",
    ]);
  });

  it("parses ~~deleted~~ text, line breaks and HTML entities", () => {
    expect(parseInline("~~old **a**~~ ~5 ~~ b ~~~")).toEqual([["del", ["old ", ["strong", ["a"]]]], " ~5 ~~ b ~~~"]);
    expect(parseInline("a<br>b<BR />\nc\\\nd `<br>`")).toEqual(["a\nb\nc\nd ", ["code", ["<br>"]]]);
    expect(parseInline("a&nbsp;&lt;b&gt; &amp;amp; &quot;&#39;&#x1F600;&mdash; &#60;script&#62;")).toEqual([
      "a\u00a0<b> &amp; \"'😀— <script>",
    ]);
  });

  it("turns an image into a link, so that the browser fetches nothing", () => {
    expect(parseInline("![a](https://x.example/i.png)")).toEqual([["a", ["a"], "https://x.example/i.png"]]);
    expect(parseInline("![](https://x.example/i.png) ![b *c*](data:image/png;base64,AA)")).toEqual([
      ["a", ["https://x.example/i.png"], "https://x.example/i.png"],
      " b ",
      ["em", ["c"]],
    ]);
    expect(parseInline("[![logo](https://x.example/i.png) Shop](https://x.example/)")).toEqual([
      ["a", ["logo Shop"], "https://x.example/"],
    ]);
  });

  it("parses adjacent emphasis marks, and brackets inside links", () => {
    expect(parseInline("**a *b*** ***c** d* _e __f___ [[1]](https://x.example)")).toEqual([
      ["strong", ["a ", ["em", ["b"]]]],
      " ",
      ["em", [["strong", ["c"]], " d"]],
      " ",
      ["em", ["e ", ["strong", ["f"]]]],
      " ",
      ["a", ["[1]"], "https://x.example/"],
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
