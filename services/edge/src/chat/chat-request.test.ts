import { describe, expect, test } from "vitest";
import { bodyParser } from "../testing/parse-input.ts";
import { ChatRequest, MAX_TURN_BODY_BYTES, PlaygroundRequest, toTurnFields } from "./chat-request.ts";

const parseChatRequest = bodyParser(ChatRequest);
const parsePlaygroundRequest = bodyParser(PlaygroundRequest);

const valid = { public_key: "svc_pk_x", session_id: "5F0C2D66-7f57-4b8e-8a51-0d6d3a3d9e01", message: "hello" };

const blankCases = (blank: string): [string, object][] => [
  [`a message of white space and ${JSON.stringify(blank)}`, { ...valid, message: ` ${blank}${blank}` }],
  [`a key of ${JSON.stringify(blank)}`, { ...valid, public_key: blank }],
];

/** Returns an object that is `levels` levels deep. */
const nested = (levels: number): object => (levels === 1 ? {} : { a: nested(levels - 1) });

const parse = (body: unknown) => parseChatRequest(typeof body === "string" ? body : JSON.stringify(body));
const parseFields = async (body: unknown) => toTurnFields(await parse(body));

test("parses a valid body and lowercases the session id", async () => {
  expect(await parseFields({ ...valid, visitor_id: "v", visitor_metadata: { plan: ["a"] } })).toEqual({
    sessionId: "5f0c2d66-7f57-4b8e-8a51-0d6d3a3d9e01",
    message: "hello",
    visitorMetadata: '{"plan":["a"]}',
  });
});

describe("a body that is not JSON is refused as invalid_json", () => {
  test.each(["", "{", '{"public_key":"x"', "\uFEFF{}", "NaN"])("%j", async (body) => {
    await expect(parse(body)).rejects.toThrow("invalid_json");
  });
  test("UTF-16, invalid UTF-8 and a missing body", async () => {
    await expect(parseChatRequest(Buffer.from(JSON.stringify(valid), "utf16le"))).rejects.toThrow("invalid_json");
    await expect(parseChatRequest(Buffer.from([0x7b, 0xff, 0x7d]))).rejects.toThrow("invalid_json");
    await expect(parseChatRequest(undefined)).rejects.toThrow("invalid_json");
  });
});

describe("a body of the wrong shape is refused as invalid_message", () => {
  const deep = `${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}`;
  test.each([
    ["an array", []],
    ["a string", '"x"'],
    ["null", "null"],
    ["no message", { ...valid, message: undefined }],
    ["no key", { ...valid, public_key: undefined }],
    ["no session", { ...valid, session_id: undefined }],
    ["an empty message", { ...valid, message: "" }],
    ["a blank message", { ...valid, message: " \n\t" }],
    ...[
      "\u0085",
      "\u00a0",
      "\u00ad",
      "\u034f",
      "\u115f",
      "\u1680",
      "\u180e",
      "\u200b",
      "\u200d",
      "\u200e",
      "\u2028",
      "\u202f",
    ].flatMap(blankCases),
    ...["\u2060", "\u2800", "\u3000", "\u3164", "\ufe0f", "\ufeff", "\uffa0", "\u{e0041}", "\u0001", "\u007f"].flatMap(
      blankCases,
    ),
    ...["9007199254740992", "-9007199254740993", "1e16", "1e999", "-1e999", "1e308"].map((number): [string, string] => [
      `the number ${number} in the metadata`,
      JSON.stringify(valid).replace("}", `,"visitor_metadata":{"a":[{"b":${number}}]}}`),
    ]),
    ["a number as message", { ...valid, message: 123 }],
    ["null as message", { ...valid, message: null }],
    ["an array as message", { ...valid, message: [] }],
    ["NUL in the message", { ...valid, message: "a\0b" }],
    ["NUL deep in the metadata", { ...valid, visitor_metadata: { a: [{ "k\0": 1 }] } }],
    ["NUL beside null", { ...valid, visitor_metadata: { a: ["\0", null] } }],
    ["half a surrogate pair", `{"public_key":"x","session_id":"${valid.session_id}","message":"\\ud800"}`],
    ["metadata that is a list", { ...valid, visitor_metadata: [] }],
    ["metadata that is null", { ...valid, visitor_metadata: null }],
    ["metadata 5,000 levels deep", JSON.stringify(valid).replace("}", `,"visitor_metadata":${deep}}`)],
    ["metadata above 16 KiB", { ...valid, visitor_metadata: { a: "x".repeat(17_000) } }],
    [
      "more than 16 KiB of small values in the metadata",
      { ...valid, visitor_metadata: { a: new Array(9_000).fill(0) } },
    ],
    ["an unknown field that is 33 levels deep", { ...valid, other: nested(33) }],
    ["20,000 open brackets, which are refused before the JSON is parsed", "[".repeat(20_000)],
    ["a visitor id above 1,024 characters", { ...valid, visitor_id: "v".repeat(1_025) }],
  ])("%s", async (_, body) => {
    await expect(parse(body)).rejects.toThrow("invalid_message");
  });
});

test("accepts 16 KiB of metadata made of the smallest values, and metadata 32 levels deep", async () => {
  const smallest = { a: new Array(8_188).fill(0) };
  const parsed = await parseFields({ ...valid, visitor_id: "v", visitor_metadata: smallest });
  expect(parsed.visitorMetadata).toHaveLength(16 * 1_024 - 1);
  expect(await parse({ ...valid, visitor_metadata: nested(32) })).toMatchObject({ visitor_metadata: nested(32) });
});

test("accepts a body whose fields have their maximum sizes, even if the long strings are escaped as \\uXXXX", async () => {
  const body = JSON.stringify({
    ...valid,
    message: "😀".repeat(4_000),
    visitor_id: "😀".repeat(1_024),
    visitor_metadata: { a: "x".repeat(16 * 1_024 - 8) },
  });
  const escaped = body.replaceAll(
    /[x\ud800-\udfff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  for (const text of [body, escaped]) {
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_TURN_BODY_BYTES);
    expect((await parse(text)).message).toHaveLength(8_000);
  }
});

test("refuses a message of 70,000 emoji as message_too_long, even if the other fields have their maximum sizes", async () => {
  const body = JSON.stringify({
    ...valid,
    message: "😀".repeat(70_000),
    visitor_id: "😀".repeat(1_024),
    visitor_metadata: { a: "x".repeat(16 * 1_024 - 8) },
  });
  expect(Buffer.byteLength(body)).toBeLessThanOrEqual(MAX_TURN_BODY_BYTES);
  await expect(parse(body)).rejects.toThrow("message_too_long");
});

test("counts the message length in code points: accepts 4,000 emoji and refuses 4,001", async () => {
  expect((await parse({ ...valid, message: "😀".repeat(4_000) })).message).toHaveLength(8_000);
  await expect(parse({ ...valid, message: "😀".repeat(4_001) })).rejects.toThrow("message_too_long");
  await expect(parse({ ...valid, message: "a".repeat(70_000) })).rejects.toThrow("message_too_long");
});

test("checks the types of fields before the message's length, and the length before the session id", async () => {
  await expect(parse({ ...valid, public_key: 1, message: "a".repeat(5_000) })).rejects.toThrow("invalid_message");
  await expect(parse({ ...valid, session_id: "x", message: "a".repeat(5_000) })).rejects.toThrow("message_too_long");
  await expect(parse({ ...valid, session_id: "x" })).rejects.toThrow("invalid_session_id");
});

test("checks optional fields and the bot slug before the message's length and the session id", async () => {
  const failsLaterChecks = { ...valid, session_id: "x", message: "a".repeat(5_000) };
  for (const optional of [
    { visitor_id: 1 },
    { visitor_id: "v".repeat(1_025) },
    { visitor_metadata: [] },
    { visitor_metadata: 1 },
  ]) {
    await expect(parse({ ...failsLaterChecks, ...optional })).rejects.toThrow("invalid_message");
    await expect(parse({ ...valid, session_id: "x", ...optional })).rejects.toThrow("invalid_message");
  }
  const playground = (body: object) => parsePlaygroundRequest(Buffer.from(JSON.stringify(body)));
  await expect(playground({ ...failsLaterChecks, bot_slug: "b", visitor_metadata: 1 })).rejects.toThrow(
    "invalid_message",
  );
  await expect(playground({ ...failsLaterChecks, bot_slug: "\u200b" })).rejects.toThrow("invalid_message");
  await expect(playground({ ...failsLaterChecks, bot_slug: "b" })).rejects.toThrow("message_too_long");
});

test("keeps the values of metadata numbers that are within ±(2^53 - 1)", async () => {
  const metadata = '{"a":[9007199254740991,-9007199254740991,1.5,0,1e3]}';
  const fields = await parseFields(JSON.stringify(valid).replace("}", `,"visitor_metadata":${metadata}}`));
  expect(fields.visitorMetadata).toBe(metadata.replace("1e3", "1000"));
});

test.each(["👩‍💻", "a\u200b", "é", "\u0301", "."])("a message of %j is not blank", async (message) => {
  expect((await parse({ ...valid, message })).message).toBe(message);
});

test("treats keys such as __proto__ as data", async () => {
  const body = `{"public_key":"x","session_id":"${valid.session_id}","message":"m","visitor_metadata":{"__proto__":{"admin":true}}}`;
  expect((await parseFields(body)).visitorMetadata).toBe('{"__proto__":{"admin":true}}');
  expect(({} as { admin?: boolean }).admin).toBeUndefined();
});
