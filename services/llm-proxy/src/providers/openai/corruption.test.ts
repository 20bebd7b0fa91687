import { describe, expect, test } from "vitest";
import { ProviderFailure } from "../failure.ts";
import { WellFormedTextBuffer } from "../well-formed-text.ts";
import { ChatStreamReader } from "./chat-stream.ts";

const isFullRun = process.env.PARLEY_TEST_FULL === "1";
const TOKENS = ["one ", "zwölf\\n", "{x}: ", '\\"', "drei"];
const TEXT = TOKENS.map((token) => JSON.parse(`"${token}"`)).join("");

const chunk = (delta: string, finish = "null") =>
  `{"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":${delta},"finish_reason":${finish}}]}`;

const EVENTS = [
  chunk('{"role":"assistant"}'),
  ...TOKENS.map((token) => chunk(`{"content":"${token}"}`)),
  chunk("{}", '"stop"'),
  "[DONE]",
];
const WIRE = Buffer.from(`: working\n\nid: 1\nevent: message\n${EVENTS.map((data) => `data: ${data}\n\n`).join("")}`);

type Outcome = { text: string; isComplete: boolean };

function read(body: Uint8Array, bytesPerRead: number): Outcome {
  const reader = new ChatStreamReader({ toolNames: ["f"], round: 0 });
  const wellFormed = new WellFormedTextBuffer();
  let text = "";
  try {
    for (let at = 0; at < body.length && !reader.hasDoneMarker; at += bytesPerRead)
      text += wellFormed.push(reader.feed(body.subarray(at, at + bytesPerRead)));
    text += wellFormed.push(reader.end()) + wellFormed.flush();
    return { text, isComplete: true };
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error;
    return { text, isComplete: reader.isFinished };
  }
}

/** For each byte of WIRE, whether it is inside a JSON string. */
const isInString = Array<boolean>(WIRE.length).fill(false);
for (const { index, 0: literal } of WIRE.toString("latin1").matchAll(/"(?:[^"\\]|\\.)*"/g))
  isInString.fill(true, index + 1, index + literal.length - 1);

/** Returns the text of all events; undefined if the body is not UTF-8 or an event is not JSON. */
function textOf(body: Uint8Array): string | undefined {
  try {
    const lines = new TextDecoder("utf-8", { fatal: true }).decode(body).split("\n");
    const events = lines.filter((line) => line.startsWith("data: {")).map((line) => JSON.parse(line.slice(6)));
    return events.map((event) => event.choices?.[0]?.delta?.content ?? "").join("");
  } catch {
    return undefined;
  }
}

/** Bytes that have a meaning in an event stream, JSON or UTF-8, and some that have none. */
const BYTES = isFullRun
  ? Array.from({ length: 256 }, (_, byte) => byte)
  : [...Buffer.from('\0\n\r\t "\\:,{}[]dtx0'), 0x7f, 0x80, 0xc3, 0xff];

/** Every position in `pnpm test:full`, otherwise every third. */
const POSITIONS = Array.from(WIRE.keys()).filter((at) => isFullRun || at % 3 === 0);

/** Expects the whole of `expected` if the outcome is complete, else a prefix of it. Calls `expect` only to fail: a call is slow. */
function expectText({ text, isComplete }: Outcome, expected: string, describeChange: () => string): void {
  const isExpected = isComplete ? text === expected : expected.startsWith(text);
  if (!isExpected)
    expect.fail(`${describeChange()}: ${isComplete ? "complete" : "incomplete"} with ${JSON.stringify(text)}`);
}

test("the unchanged stream is read as a complete reply", () => {
  expect(textOf(WIRE)).toBe(TEXT);
  expect(read(WIRE, 7)).toEqual({ text: TEXT, isComplete: true });
});

describe("a changed byte", () => {
  test.each([1_000_000, 16])(
    "in reads of %i bytes, is an error or changes nothing, unless it is inside a JSON string that stays valid",
    { timeout: 60_000 },
    (bytesPerRead) => {
      let errors = 0;
      for (const at of POSITIONS) {
        for (const byte of BYTES) {
          const body = Buffer.from(WIRE);
          body[at] = byte;
          const outcome = read(body, bytesPerRead);
          if (!outcome.isComplete) errors++;
          // A changed string in valid JSON is indistinguishable from what the provider sent: only TLS and TCP checksums detect it.
          const expected = (isInString[at] ? textOf(body) : undefined) ?? TEXT;
          expectText(outcome, expected, () => `byte ${at} as ${byte}: ${show(body, at)}`);
        }
      }
      expect(errors).toBeGreaterThan((POSITIONS.length * BYTES.length) / 4);
    },
  );
});

describe("between two events", () => {
  const boundaries = [...WIRE.toString("latin1").matchAll(/\n\n/g)].map(({ index }) => index);

  test.each(["X", "\0\0", ":", ": ", "\r", "\n", "\n\n\n", "xxxxxxx", "id: 1\n", "\xff\xfe", "<br>", "data"])(
    "overwriting bytes with %j is an error or changes nothing",
    (garbage) => {
      for (const boundary of boundaries) {
        for (let at = boundary - 2; at < Math.min(boundary + 9, WIRE.length); at++) {
          const body = Buffer.from(WIRE);
          body.write(garbage, at, "latin1");
          const describeChange = () => `${JSON.stringify(garbage)} at ${at}: ${show(body, at)}`;
          for (const bytesPerRead of [1_000_000, 5]) expectText(read(body, bytesPerRead), TEXT, describeChange);
        }
      }
    },
  );

  test.each(['dXta: {"id"', 'data {"id"', ':data: {"id"', '{"id"'])(
    "a data line whose beginning is damaged to %s is an error",
    (to) => {
      const text = WIRE.toString();
      const from = 'data: {"id"';
      // The event of the second token, which begins less than 120 characters before the token.
      const at = text.indexOf(from, text.indexOf("zw") - 120);
      const damaged = Buffer.from(text.slice(0, at) + to + text.slice(at + from.length));
      for (const bytesPerRead of [1_000_000, 16, 1])
        expect(read(damaged, bytesPerRead)).toEqual({ text: expect.stringMatching(/^(one )?$/), isComplete: false });
    },
  );
});

function show(body: Buffer, at: number): string {
  return JSON.stringify(body.subarray(Math.max(0, at - 12), at + 24).toString("latin1"));
}
