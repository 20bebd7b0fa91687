import { create } from "@bufbuild/protobuf";
import { type Passage, PassageSchema } from "@parley/rpc/llm";
import { cpuMsOf } from "@parley/test-support";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Citations } from "./citations.ts";

const passage = (id: number, sourceId: number, title?: string): Passage =>
  create(PassageSchema, {
    id: BigInt(id),
    sourceId: BigInt(sourceId),
    ...(title !== undefined && { shown: { title, url: "" } }),
  });

/** The passages 1 and 3 are of one document, and the document of passage 4 is hidden. */
const PASSAGES = [
  passage(11, 1, "Delivery"),
  passage(12, 2, "Returns"),
  passage(13, 1, "Delivery"),
  passage(14, 3),
  passage(15, 4, "Hours"),
];

type Result = { text: string; cited: (readonly [number, number, number])[] };

/** Returns the text, and of each citation the chunk, the number and the offset. */
function cite(pieces: readonly string[]): Result {
  const citations = new Citations();
  const results = [...pieces.map((piece) => citations.push(piece, PASSAGES)), citations.end(PASSAGES)];
  return {
    text: results.map(({ text }) => text).join(""),
    cited: results.flatMap((result) =>
      result.citations.map(({ chunkId, number, offset }) => [Number(chunkId), number, offset] as const),
    ),
  };
}

const CASES: [name: string, reply: string, text: string, chunks: number[]][] = [
  [
    "numbers sources in the order of their citations",
    "Back in 30 days [2]. Two days [1].",
    "Back in 30 days [1]. Two days [2].",
    [12, 11],
  ],
  ["gives a source that is cited twice one number", "A [5]. B [2]. C [5].", "A [1]. B [2]. C [1].", [15, 12]],
  ["gives the passages of a document one number", "A [1]. B [3].", "A [1]. B [1].", [11, 13]],
  ["does not repeat a number in a row", "A [1][3] and [1] [3].", "A [1] and [1].", [11, 13]],
  ["reads lists of numbers", "A [1, 2]. B [2;5].", "A [1][2]. B [2][3].", [11, 12, 15]],
  [
    "reads the marks of other styles",
    "A [^2]. B 【1】. C [source 5]. D [Sources 1, 2].",
    "A [1]. B [2]. C [3]. D [2][1].",
    [12, 11, 15],
  ],
  ["removes numbers without a passage", "A [0]. B [6] is [99]. C [999] D [1, 7].", "A. B is. C D [1].", [11]],
  ["removes hidden documents, which count as cited", "A [4]. B [1].", "A. B [1].", [14, 11]],
  ["leaves spans of code", "Use `a[1]` and ``b`[2]`` [2].", "Use `a[1]` and ``b`[2]`` [1].", [12]],
  [
    "leaves blocks of code",
    "See [5]:\n```js\nconst a = b[1];\n```\nDone [1].",
    "See [1]:\n```js\nconst a = b[1];\n```\nDone [2].",
    [15, 11],
  ],
  [
    "leaves blocks of code in lists and quotes",
    "- A:\n  - ~~~\n    a[1]\n    ~~~\n> ```\n> b[2]\n> ```\n> C [2]",
    "- A:\n  - ~~~\n    a[1]\n    ~~~\n> ```\n> b[2]\n> ```\n> C [1]",
    [12],
  ],
  ["leaves a block of code without an end", "A [2]\n```\nb[1]\n\nc[1]", "A [1]\n```\nb[1]\n\nc[1]", [12]],
  [
    "reads marks after a backtick without an end",
    "Press ` twice [2].\n\nThen `x[1]` [1].",
    "Press ` twice [1].\n\nThen `x[1]` [2].",
    [12, 11],
  ],
  ["ends a span of code at a list", "Press ` [2]\n- and ` [1]", "Press ` [1]\n- and ` [2]", [12, 11]],
  ["leaves escaped brackets", "A \\[1] B \\`[2]\\` [2].", "A \\[1] B \\`[1]\\` [1].", [12]],
  [
    "leaves years, links and other brackets",
    "In [2024] [a](https://example.com) [x] [1a] [1.5] [",
    "In [2024] [a](https://example.com) [x] [1a] [1.5] [",
    [],
  ],
  ["separates a footnote from a parenthesis", "A [2](https://example.com/[7]).", "A [1] (https://example.com/).", [12]],
  ["keeps white space", "A  [2]\n\n [9]B \n", "A  [1]\n\nB \n", [12]],
];

describe("Citations", () => {
  test.each(CASES)("%s, however the text is split", (_, reply, text, chunks) => {
    const whole = cite([reply]);
    expect(whole.text).toBe(text);
    expect(whole.cited.map(([chunk]) => chunk)).toEqual(chunks);
    expect(cite([...reply])).toEqual(whole);
    for (let at = 1; at < reply.length; at++) expect(cite([reply.slice(0, at), reply.slice(at)])).toEqual(whole);
  });

  test("gives the same text for any split of any text", () => {
    const token = fc.constantFrom(
      ..."[1] [2] [3] [4] [5] [9] [1, 2] [ 1 ] 【2】 [^1] [ ] ` `` ``` ~~~ \n \n\n > - 1. \\ ( ) a word . 7".split(" "),
      " ",
      "    ",
      "[source 2]",
    );
    const pieces = fc.array(
      fc.array(token, { maxLength: 6 }).map((tokens) => tokens.join("")),
      { maxLength: 8 },
    );
    fc.assert(
      fc.property(pieces, fc.infiniteStream(fc.integer({ min: 1, max: 5 })), (parts, lengths) => {
        const text = parts.join("");
        const split: string[] = [];
        for (let at = 0; at < text.length; ) {
          const length = lengths.next().value as number;
          split.push(text.slice(at, at + length));
          at += length;
        }
        const whole = cite([text]);
        expect(cite(split)).toEqual(whole);
        expect(cite([...text])).toEqual(whole);
        // The numbers are 1, 2 and so on, and each is at its offset for the first time.
        const shown = whole.cited.filter(([, number]) => number > 0);
        const numbers = [...new Set(shown.map(([, number]) => number))];
        expect(numbers).toEqual(numbers.map((_, index) => index + 1));
        for (const [, number, offset] of shown) expect(whole.text.slice(0, offset)).toContain(`[${number}]`);
      }),
      { numRuns: 300 },
    );
  });

  test("delays no text that is no mark", () => {
    const citations = new Citations();
    const push = (piece: string) => citations.push(piece, PASSAGES).text;
    expect(push("Hello")).toBe("Hello");
    expect(push(" you [")).toBe(" you");
    expect(push("a](b) **c**")).toBe(" [a](b) **c**");
    expect(push(" [1")).toBe("");
    expect(push("]")).toBe(" [1]");
    expect(push(", done\n")).toBe(", done\n");
  });

  test.each([" ", "`", "[", "~", "\n", "` ", "[1", "> ", "```x"])(
    "reads %j 10,000 times in less than a second of CPU time",
    (unit) => {
      const text = unit.repeat(10_000);
      const cpuMs = cpuMsOf(() => {
        const citations = new Citations();
        for (let at = 0; at < text.length; at += 8) citations.push(text.slice(at, at + 8), PASSAGES);
        citations.end(PASSAGES);
      });
      expect(cpuMs).toBeLessThan(1_000);
    },
  );

  test("continues its numbers when the model replies again after calling tools", () => {
    const citations = new Citations();
    expect(citations.push("Let me look [2", PASSAGES).text + citations.end(PASSAGES).text).toBe("Let me look [2");
    expect(citations.push("A [5].", PASSAGES).text).toBe("A [1].");
    expect(citations.push("B [2].", PASSAGES)).toMatchObject({
      text: "B [2].",
      citations: [{ number: 2, offset: 25 }],
    });
  });

  test("knows only the passages of the model's prompt", () => {
    expect(new Citations().push("A [5]. B [1].", PASSAGES.slice(0, 2)).text).toBe("A. B [1].");
  });
});
