import { cpuMsOf } from "@parley/test-support";
import { describe, expect, test } from "vitest";
import { splitDocument } from "./document.ts";

describe("the blocks of a Markdown document", () => {
  const blocks = splitDocument(
    "md",
    `---
title: Plans
---
# Plans

Every workspace has a **plan**, see [the list](https://example.com/plans "Plans") and \`parley usage\`.
It counts *messages*.

## Free & Pro

- 100 messages a month
- no card

| Plan | Messages |
|---|---|
| Free | 100 |
| Pro | 5,000 |

\`\`\`sh
parley usage --workspace W
  --month 2026-11
\`\`\`

<div>Raw <b>HTML</b></div>
<script>alert(1)</script>

### Deeper
Text &amp; more.
# Other
End.
`,
  );

  test("contain no markup, link targets, front matter or scripts", () => {
    expect(blocks.map((block) => block.text)).toEqual([
      "Every workspace has a plan, see the list and parley usage. It counts messages.",
      "100 messages a month",
      "no card",
      "Plan: Free; Messages: 100.",
      "Plan: Pro; Messages: 5,000.",
      "```\nparley usage --workspace W\n  --month 2026-11\n```",
      "Raw HTML",
      "Text & more.",
      "End.",
    ]);
  });

  test("contain the text between two thematic breaks at the beginning, which is not front matter", () => {
    const markdown = "---\nOpening hours: 9 to 6.\n\n---\nCall us.\n";
    expect(splitDocument("md", markdown).map(({ text }) => text)).toEqual(["Opening hours: 9 to 6.", "Call us."]);
  });

  test("have the headings of their sections", () => {
    expect(blocks.map((block) => block.headings.join(" > "))).toEqual([
      "Plans",
      ...Array<string>(6).fill("Plans > Free & Pro"),
      "Plans > Free & Pro > Deeper",
      "Other",
    ]);
  });
});

test("splitDocument leaves out the head, navigation, styles and scripts of HTML", () => {
  const html = `<!doctype html><html><head><title>T</title><style>p{}</style></head><body>
    <nav><a href="/">Home</a></nav><h3>Opening   hours</h3>
    <p>We open at <b>9</b>.<br>Come in!</p><div>Call <a href="tel:1">us</a><p>Or write.</p>to us</div>
    <table><tr><td>Monday</td><td>9–17</td></tr></table><template>no</template><script>no()</script>`;
  expect(splitDocument("html", html)).toEqual(
    ["We open at 9.", "Come in!", "Call us", "Or write.", "to us", "Monday; 9–17."].map((text) => ({
      headings: ["Opening hours"],
      text,
    })),
  );
});

test("splitDocument keeps a table's caption and the text after the table", () => {
  const html = "<table><caption>Hours</caption><tr><th>Day<th>Time<tr><td>Monday<td>9–17</table>Closed on holidays.";
  expect(splitDocument("html", html).map((block) => block.text)).toEqual([
    "Hours",
    "Day: Monday; Time: 9–17.",
    "Closed on holidays.",
  ]);
});

test("splitDocument separates the lines and blocks in a heading, a table cell and preformatted text", () => {
  const html = `<h1>Shop<br>Returns</h1><pre>one<br>two<div>three</div>four</pre>
    <table><tr><td>Monday<br>Friday</td><td><p>nine</p>to<ul><li>f<b>iv</b>e</li><li>six</li></ul></td></tr></table>`;
  expect(splitDocument("html", html)).toEqual(
    ["```\none\ntwo\nthree\nfour\n```", "Monday Friday; nine to five six."].map((text) => ({
      headings: ["Shop Returns"],
      text,
    })),
  );
});

test("splitDocument loses no list item, table row or line of code if it parses a long Markdown text in pieces", {
  timeout: 20_000,
}, () => {
  const count = 10_000;
  const lines = (line: (at: number) => string) => Array.from({ length: count }, (_, at) => line(at)).join("\r\n");
  const code = lines((at) => (at % 100 === 0 ? "" : `# ${at}`));
  const markdown = [
    "# Lists",
    lines((at) => `- item ${at}, see [the *plans*][plans]`),
    "# Tables",
    `| A | B |\r\n|---|---|\r\n${lines((at) => `| a${at} | b${at} |`)}`,
    "# Code",
    `~~~~\r\n${code}\r\n~~~\r\nmore\r\n~~~~`,
    "# Links",
    "[plans]: https://example.com/plans",
  ].join("\r\n\r\n");
  const blocks = splitDocument("md", markdown);
  const under = (heading: string) => blocks.filter(({ headings }) => headings[0] === heading).map(({ text }) => text);
  expect(under("Lists")).toEqual(Array.from({ length: count }, (_, at) => `item ${at}, see the plans`));
  expect(under("Tables")).toEqual(Array.from({ length: count }, (_, at) => `A: a${at}; B: b${at}.`));
  expect(under("Code")).toEqual([`\`\`\`\n${code.replaceAll("\r", "").trim()}\n~~~\nmore\n\`\`\``]);
});

test.each([
  ["a code block that contains the line ```js", "```md\n```js\ncode()\n```"],
  ["inline code with three backticks", "```npm install``` installs it."],
])("splitDocument does not split a code block in a long text after %s", (_, example) => {
  const markdown = [example, "Prose. ".repeat(10_000), "```\n# a comment\nnpm start\n```", "End."].join("\n\n");
  expect(splitDocument("md", markdown).slice(-2)).toEqual([
    { headings: [], text: "```\n# a comment\nnpm start\n```" },
    { headings: [], text: "End." },
  ]);
});

test.each([
  ["txt", (spaces: string) => `a${spaces}b`],
  ["txt", (spaces: string) => `a\n${spaces}b`],
  ["html", (spaces: string) => `<pre>a${spaces}b</pre>`],
  ["html", (spaces: string) => `<pre>a${spaces.replaceAll(" ", "\n")}b</pre>`],
  ["md", (spaces: string) => `a${spaces}b\n\n    a${spaces}b`],
] as const)(
  "splitDocument reads %s with 200,000 spaces or line breaks in less than two seconds of CPU time",
  (format, write) => {
    const split = () => expect(splitDocument(format, write(" ".repeat(200_000)))).not.toEqual([]);
    expect(cpuMsOf(split)).toBeLessThan(2_000);
  },
);

test("splitDocument reads an HTML table of 100,000 rows", { timeout: 20_000 }, () => {
  const html = `<table>${"<tr><td>a</td><td>b</td></tr>".repeat(100_000)}</table>`;
  expect(splitDocument("html", html)).toHaveLength(100_000);
});

test("splitDocument reads HTML with 100,000 nested elements", { timeout: 20_000 }, () => {
  expect(splitDocument("html", `${"<b>".repeat(100_000)}deep`)).toEqual([{ headings: [], text: "deep" }]);
});

test("splitDocument splits plain text into paragraphs, joins wrapped lines and keeps lists", () => {
  const text = "A sentence that\r\nwas wrapped.\r\n\r\n\r\nTo bring:\n- a pen\n- paper\n  of any size\n";
  expect(splitDocument("txt", text).map((block) => block.text)).toEqual([
    "A sentence that was wrapped.",
    "To bring:\n- a pen\n- paper of any size",
  ]);
});
