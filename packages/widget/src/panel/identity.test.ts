import { afterEach, describe, expect, it, vi } from "vitest";

/** Each test loads the module again, because it warns once about each field. */
async function load() {
  vi.resetModules();
  const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  return { ...(await import("./identity.ts")), warn };
}
afterEach(() => vi.restoreAllMocks());

const nested = (levels: number): object => (levels === 1 ? {} : { a: nested(levels - 1) });
const cyclic: Record<string, unknown> = {};
cyclic.self = cyclic;
const throwing = {
  get a() {
    throw new Error("no");
  },
};

describe("readVisitorId", () => {
  it.each([
    ["u-1", "u-1"],
    [" ", " "],
    [42, "42"],
    [0, "0"],
    [-7, "-7"],
    [1.5, "1.5"],
    [Number.MAX_SAFE_INTEGER, "9007199254740991"],
    ["😀".repeat(1_024), "😀".repeat(1_024)],
  ])("returns %j as text", async (value, text) => {
    const { readVisitorId, warn } = await load();
    expect(readVisitorId({ visitorId: value })).toBe(text);
    expect(warn).not.toHaveBeenCalled();
  });

  it.each([undefined, ""])("returns undefined for %j without a warning", async (value) => {
    const { readVisitorId, warn } = await load();
    expect(readVisitorId({ visitorId: value })).toBeUndefined();
    expect(warn).not.toHaveBeenCalled();
  });

  it.each([
    ["null", null],
    ["an array", ["u-1"]],
    ["an object", { id: "u-1" }],
    ["a String object", new String("u-1")],
    ["an object without a prototype", Object.create(null)],
    ["an unsafe integer", 2 ** 53],
    ["a large number", 1e300],
    ["NaN", Number.NaN],
    ["Infinity", Number.POSITIVE_INFINITY],
    ["a boolean", true],
    ["a BigInt", 42n],
    ["a Date", new Date()],
    ["a function", () => "u-1"],
    ["a symbol", Symbol("u-1")],
    ["an id that is too long", "v".repeat(1_025)],
    ["NUL", "a\0b"],
    ["a lone surrogate", "a\ud800"],
  ])("drops %s with one warning that names the field", async (_, value) => {
    const { readVisitorId, warn } = await load();
    for (let times = 0; times < 2; times++) {
      expect(readVisitorId({ visitorId: value })).toBeUndefined();
    }
    expect(warn.mock.calls).toEqual([[expect.stringContaining("visitorId")]]);
  });
});

describe("readMetadata", () => {
  class Cart {
    items = 2;
  }
  it.each([
    ["an object", { plan: "gold", tags: ["a", 1, null, true] }, { plan: "gold", tags: ["a", 1, null, true] }],
    ["JSON of an attribute", '{"plan":"gold"}', { plan: "gold" }],
    ["an instance of a class", new Cart(), { items: 2 }],
    ["an object without a prototype", Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
    ["a nested date, as JSON has it", { at: new Date(0) }, { at: "1970-01-01T00:00:00.000Z" }],
    ["a nested function, without it", { a: 1, b: () => 1 }, { a: 1 }],
    ["32 levels", nested(32), nested(32)],
    ["16 KiB", { a: "x".repeat(16_376) }, { a: "x".repeat(16_376) }],
    ["the largest exact integer", { a: 9007199254740991 }, { a: 9007199254740991 }],
  ])("returns %s", async (_, value, metadata) => {
    const { readMetadata, warn } = await load();
    expect(readMetadata({ metadata: value })).toEqual(metadata);
    expect(warn).not.toHaveBeenCalled();
  });

  it("returns a copy, so that the message contains what was checked", async () => {
    const { readMetadata } = await load();
    const metadata = { plan: "gold" };
    expect(readMetadata({ metadata })).not.toBe(metadata);
  });

  it.each([
    ["null", null],
    ["an array", [1]],
    ["a number", 1],
    ["a boolean", false],
    ["a function", () => 1],
    ["a BigInt", 1n],
    ["a Date", new Date()],
    ["a Map", new Map([["a", 1]])],
    ["a Set", new Set([1])],
    ["text that is not JSON", "gold"],
    ["JSON of an array", "[1]"],
    ["JSON of null", "null"],
    ["a nested BigInt", { a: 1n }],
    ["a cycle", cyclic],
    ["a getter that throws", throwing],
    ["an object whose toJSON returns an array", { toJSON: () => [1] }],
    ["an object whose toJSON returns nothing", { toJSON: () => undefined }],
    ["33 levels", nested(33)],
    ["100,000 levels", JSON.parse(`${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}`)],
    ["more than 16 KiB", { a: "x".repeat(16_377) }],
    ["more than 16 KiB of UTF-8", { a: "ä".repeat(8_200) }],
    ["an unsafe integer", { a: [{ b: 2 ** 53 }] }],
    ["NUL in a value", { a: "\0" }],
    ["NUL in a name", { a: { "b\0": 1 } }],
    ["a lone surrogate", { a: ["\udc00"] }],
  ])("drops %s with one warning that names the field", async (_, value) => {
    const { readMetadata, warn } = await load();
    for (let times = 0; times < 2; times++) {
      expect(readMetadata({ metadata: value })).toBeUndefined();
    }
    expect(warn.mock.calls).toEqual([[expect.stringContaining("metadata")]]);
  });
});

describe("readVisitorToken", () => {
  const { signal } = new AbortController();
  it.each([
    ["text", "a.b.c", "a.b.c"],
    ["the text of a function", () => "a.b.c", "a.b.c"],
    ["the text of an asynchronous function", async () => "a.b.c", "a.b.c"],
    ["nothing for undefined", undefined, undefined],
    ["nothing for null", null, undefined],
    ["nothing for an empty text", "", undefined],
    ["nothing for a function that returns nothing", async () => undefined, undefined],
  ])("returns %s", async (_, visitorToken, token) => {
    const { readVisitorToken, warn } = await load();
    expect(await readVisitorToken({ visitorToken }, signal)).toBe(token);
    expect(warn).not.toHaveBeenCalled();
  });

  it.each([
    ["a number", 42],
    ["an object", {}],
  ])("drops %s with one warning that names the field", async (_, visitorToken) => {
    const { readVisitorToken, warn } = await load();
    for (let times = 0; times < 2; times++) expect(await readVisitorToken({ visitorToken }, signal)).toBeUndefined();
    expect(warn.mock.calls).toEqual([[expect.stringContaining("visitorToken")]]);
  });

  it.each([
    ["throws", () => throwing.a],
    ["rejects", async () => throwing.a],
    ["returns an object", async () => ({ token: "a.b.c" })],
    ["returns a number", () => 42],
  ])("throws a Failure if the function %s, so that no request is sent without the token", async (_, visitorToken) => {
    const { readVisitorToken, warn } = await load();
    await expect(readVisitorToken({ visitorToken }, signal)).rejects.toMatchObject({ code: "visitor_token_failed" });
    expect(warn).toHaveBeenLastCalledWith(expect.stringContaining("visitorToken"));
  });

  it("waits 10 s for a function, or until the signal is aborted", async () => {
    vi.useFakeTimers();
    const { readVisitorToken } = await load();
    const visitorToken = () => new Promise(() => undefined);
    const waiting = expect(readVisitorToken({ visitorToken }, signal)).rejects.toMatchObject({
      code: "visitor_token_failed",
    });
    await vi.advanceTimersByTimeAsync(10_000);
    await waiting;
    const stop = new AbortController();
    const stopped = expect(readVisitorToken({ visitorToken }, stop.signal)).rejects.toBe("stop");
    stop.abort("stop");
    await stopped;
    vi.useRealTimers();
  });
});
