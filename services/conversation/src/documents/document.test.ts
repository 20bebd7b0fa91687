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

describe("splitDocument reads HTML tables", () => {
  const rowsOf = (rows: string) => splitDocument("html", `<table>${rows}</table>`).map((block) => block.text);

  test("repeats a cell that spans columns or rows for each of them", () => {
    expect(
      rowsOf(`<thead><tr><td rowspan=2>Bread<td colspan=2>Price<tr><td>small<td>large</thead>
        <tr><td rowspan=2>Rye<td>2.10<td>4.20<tr><td colspan=2>sold out
        <tr><th colspan=3>Rolls<tr><td>Spelt<td>0.95<td>1.80`),
    ).toEqual([
      "Bread: Rye; Price small: 2.10; Price large: 4.20.",
      "Bread: Rye; Price small: sold out; Price large: sold out.",
      "Rolls.",
      "Bread: Spelt; Price small: 0.95; Price large: 1.80.",
    ]);
  });

  test("reads spans that are zero, invalid, overlapping or larger than the table", () => {
    expect(
      rowsOf(`<tr><th>A<th>B<th>C<tr><td rowspan=0>a<td colspan=x>b<td>c<tr><td colspan=99>d<tr><td>e<td colspan=-1>f`),
    ).toEqual(["A: a; B: b; C: c.", "A: a; B: d; C: d.", "A: a; B: e; C: f."]);
  });

  test("begins new columns at a second row of headings, and keeps headings without rows", () => {
    expect(rowsOf("<tr><th>Day<th>Hours<tr><td>Mon<td>9–17<tr><th>Item<th>Price<tr><td>Tea<td>2")).toEqual([
      "Day: Mon; Hours: 9–17.",
      "Item: Tea; Price: 2.",
    ]);
    expect(rowsOf("<tr><th>Phone<th>030 123")).toEqual(["Phone; 030 123."]);
  });

  test("reads a cell that spans 1,000 columns and 65,534 rows", { timeout: 20_000 }, () => {
    const html = `<tr><td>a<td colspan=1000 rowspan=65534>b${"<tr><td>c".repeat(1_000)}`;
    expect(rowsOf(html)).toHaveLength(1_001);
  });
});

test("splitDocument reads buttons in headings and accordions, and no other buttons", () => {
  const html = `<h2><button>Do you ship abroad?</button></h2><p>Yes.</p><button>Add to cart</button>
    <button aria-expanded="false">Can I return it?</button><div>Within 30 days.</div>`;
  expect(splitDocument("html", html)).toEqual(
    ["Yes.", "Can I return it?", "Within 30 days."].map((text) => ({ headings: ["Do you ship abroad?"], text })),
  );
});

test("splitDocument reads the summary of details as a heading of their content", () => {
  const html = `<h2>Help</h2><details><summary>Do you <b>ship</b> abroad?</summary><p>Yes.</p>
    <details><summary><h3>How long?</h3></summary>A week.</details><h4>Islands</h4>Two weeks.</details><p>Call us.</p>
    <summary>Alone</summary>`;
  expect(splitDocument("html", html).map(({ headings, text }) => [...headings, text].join(" > "))).toEqual([
    "Help > Do you ship abroad? > Yes.",
    "Help > Do you ship abroad? > How long? > A week.",
    "Help > Do you ship abroad? > Islands > Two weeks.",
    "Help > Call us.",
    "Help > Alone",
  ]);
});
