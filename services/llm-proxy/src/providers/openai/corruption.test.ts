import { describe, expect, test } from "vitest";
import { ProviderFailure } from "../failure.ts";
import { WellFormedText } from "../well-formed.ts";
import { ChatStreamReader } from "./chat-stream.ts";

const isFull = process.env.PARLEY_TEST_FULL === "1";
const TOKENS = ["one ", "zwölf\\n", "{x}: ", '\\"', "drei"];
const WHOLE = TOKENS.map((token) => JSON.parse(`"${token}"`)).join("");

const chunk = (delta: string, finish = "null") =>
  `{"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":${delta},"finish_reason":${finish}}]}`;

/** A reply in pieces: those with an odd index are the tokens as they stand in JSON. */
const PIECES = [
  `: working\n\nid: 1\nevent: message\ndata: ${chunk('{"role":"assistant"}')}\n\n`,
  ...TOKENS.flatMap((token, index) => {
    const [before = "", after = ""] = chunk(`{"content":"|"}`).split("|");
    const isLast = index === TOKENS.length - 1;
    const next = isLast ? `data: ${chunk("{}", '"stop"')}\n\ndata: [DONE]\n\n` : "";
    return [`data: ${before}`, token, `${after}\n\n${next}`];
  }),
].reduce<string[]>((pieces, piece) => {
  // What is not a token is one piece with its neighbours.
  const isToken = TOKENS.includes(piece);
  if (isToken || pieces.length % 2 === 0) pieces.push(piece);
  else pieces.push(`${pieces.pop()}${piece}`);
  return pieces;
}, []);
const WIRE = Buffer.from(PIECES.join(""));

type Outcome = { text: string; isDone: boolean };

function read(body: Uint8Array, bytesPerRead: number): Outcome {
  const reader = new ChatStreamReader();
  const wellFormed = new WellFormedText();
  let text = "";
  try {
    for (let at = 0; at < body.length && !reader.ended; at += bytesPerRead)
      text += wellFormed.push(reader.feed(body.subarray(at, at + bytesPerRead)));
    text += wellFormed.push(reader.end()) + wellFormed.flush();
    return { text, isDone: true };
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error;
    return { text, isDone: reader.finished };
  }
}

/** What the tokens say in these bytes, in which nothing but a token may differ; undefined when one says nothing. */
function textOf(body: Buffer): string | undefined {
  let at = 0;
  let text = "";
  for (const [index, piece] of PIECES.entries()) {
    const bytes = body.subarray(at, at + Buffer.byteLength(piece));
    at += bytes.length;
    if (index % 2 === 0) continue;
    try {
      text += JSON.parse(`"${new TextDecoder("utf-8", { fatal: true }).decode(bytes)}"`);
    } catch {
      return undefined;
    }
  }
  return text.replaceAll("\0", "\uFFFD");
}

const isTokenAt = PIECES.flatMap((piece, index) => Array(Buffer.byteLength(piece)).fill(index % 2 === 1) as boolean[]);

/** Bytes that mean something to an event stream, to JSON or to UTF-8, and some that do not. */
const BYTES = isFull
  ? Array.from({ length: 256 }, (_, byte) => byte)
  : [...Buffer.from('\0\n\r\t "\\:,{}[]dtx0'), 0x7f, 0x80, 0xc3, 0xff];

function expectNoOther({ text, isDone }: Outcome, said: string | undefined, what: string): void {
  if (isDone) expect(text, what).toBe(said);
  else expect((said ?? WHOLE).startsWith(text) || WHOLE.startsWith(text), `${what}: ${text}`).toBe(true);
}

describe("a byte turned over anywhere", () => {
  test("the reply itself is read whole", () => {
    expect(PIECES.join("").includes('data: {"id"')).toBe(true);
    expect(textOf(WIRE)).toBe(WHOLE);
    expect(read(WIRE, 7)).toEqual({ text: WHOLE, isDone: true });
  });

  // A byte of the text itself is the provider's word: nothing but the connection's TLS vouches for it.
  test.each([1_000_000, 16])(
    "is an error, or changes nothing, in reads of %i bytes",
    { timeout: 60_000 },
    (bytesPerRead) => {
      let errors = 0;
      for (let at = 0; at < WIRE.length; at++) {
        for (const byte of BYTES) {
          const body = Buffer.from(WIRE);
          body[at] = byte;
          const outcome = read(body, bytesPerRead);
          if (!outcome.isDone) errors++;
          expectNoOther(outcome, isTokenAt[at] ? textOf(body) : WHOLE, `byte ${at} as ${byte}: ${show(body, at)}`);
        }
      }
      expect(errors).toBeGreaterThan((WIRE.length * BYTES.length) / 4);
    },
  );
});

describe("between two events", () => {
  const boundaries = [...WIRE.toString("latin1").matchAll(/\n\n/g)].map(({ index }) => index);

  test.each(["X", "\0\0", ":", ": ", "\r", "\n", "\n\n\n", "xxxxxxx", "id: 1\n", "\xff\xfe", "<br>", "data"])(
    "%j in place of what was there is an error, or changes nothing",
    (garbage) => {
      for (const boundary of boundaries) {
        for (let at = boundary - 2; at < Math.min(boundary + 9, WIRE.length); at++) {
          const body = Buffer.from(WIRE);
          body.write(garbage, at, "latin1");
          const what = `${JSON.stringify(garbage)} at ${at}: ${show(body, at)}`;
          for (const bytesPerRead of [1_000_000, 5]) expectNoOther(read(body, bytesPerRead), WHOLE, what);
        }
      }
    },
  );

  test("an event less is an error where it has left a trace", () => {
    const text = WIRE.toString();
    for (const [from, to] of [
      ['data: {"id"', 'dXta: {"id"'],
      ['data: {"id"', 'data {"id"'],
      ['data: {"id"', ':data: {"id"'],
      ['data: {"id"', '{"id"'],
      ['"content"', '"contenX"'],
      ['"delta"', '"deltX"'],
      ['"choices"', '"choiceX"'],
    ] as const) {
      // The second token's event.
      const at = text.indexOf(from, text.indexOf("zw") - 120);
      const damaged = Buffer.from(text.slice(0, at) + to + text.slice(at + from.length));
      for (const bytesPerRead of [1_000_000, 16, 1])
        expect(read(damaged, bytesPerRead), to).toEqual({ text: expect.stringMatching(/^(one )?$/), isDone: false });
    }
  });
});

function show(body: Buffer, at: number): string {
  return JSON.stringify(body.subarray(Math.max(0, at - 12), at + 24).toString("latin1"));
}
