import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Gate } from "../gate/main.ts";
import { Failure } from "../shared/failure.ts";
import type { ChunkContext } from "./chunk.ts";
import { createGateLoader } from "./gate-loader.ts";

beforeEach(() => {
  vi.stubGlobal("GATE", ["gate.js", "sha256-x"]);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const refusal = new Failure("consent_required", 0, "request-1");
const { signal } = new AbortController();

/** Loads a chunk whose gate is `pass`, after `failures` failed attempts. */
function createPass(pass: Gate["pass"], failures = 0) {
  let left = failures;
  const load = vi.fn(async () => {
    if (left-- > 0) throw new Error("offline");
    return { createGate: () => ({ pass }) };
  });
  return { load, pass: createGateLoader({ load } as unknown as ChunkContext) };
}

it("loads the chunk once and returns the fields of its pass", async () => {
  const { load, pass } = createPass(async (_, session) => ({ consent_version: session }));
  expect(await pass(refusal, "s-1", signal)).toEqual({ consent_version: "s-1" });
  expect(await pass(refusal, "s-2", signal)).toEqual({ consent_version: "s-2" });
  expect(load.mock.calls).toEqual([[["gate.js", "sha256-x"]]]);
});

it("rejects with the refusal if the chunk cannot be loaded, and loads it at the next call", async () => {
  const { pass } = createPass(async () => ({ a: "1" }), 1);
  await expect(pass(refusal, "s-1", signal)).rejects.toBe(refusal);
  expect(await pass(refusal, "s-1", signal)).toEqual({ a: "1" });
});

it("rejects with the refusal if the launcher is too old to load chunks", async () => {
  await expect(createGateLoader({} as ChunkContext)(refusal, "s-1", signal)).rejects.toBe(refusal);
});

it("turns a Failure of the chunk into one of the panel, with the id of the refused request", async () => {
  class FailureOfChunk extends Error {
    readonly code = "stopped";
  }
  const { pass } = createPass(() => Promise.reject(new FailureOfChunk()));
  const error = await pass(refusal, "s-1", signal).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(Failure);
  expect(error).toMatchObject({ code: "stopped", requestId: "request-1" });
});

it("rejects with the signal's reason after an abort", async () => {
  const stop = new AbortController();
  const { pass } = createPass(async () => {
    stop.abort(new DOMException("stopped", "AbortError"));
    throw stop.signal.reason;
  });
  await expect(pass(refusal, "s-1", stop.signal)).rejects.toMatchObject({ name: "AbortError" });
});

it("keeps the wait and the id of a request that the chunk has sent", async () => {
  const { pass } = createPass(() => Promise.reject(new Failure("rate_limited", 7, "request-2")));
  await expect(pass(refusal, "s-1", signal)).rejects.toMatchObject({
    code: "rate_limited",
    retryAfterSeconds: 7,
    requestId: "request-2",
  });
});

it("rejects with the signal's reason if the message is stopped while the chunk is loading", async () => {
  const stop = new AbortController();
  const pass = createGateLoader({ load: () => new Promise(() => undefined) } as unknown as ChunkContext);
  const passing = pass(refusal, "s-1", stop.signal);
  stop.abort(new DOMException("stopped", "AbortError"));
  await expect(passing).rejects.toMatchObject({ name: "AbortError" });
});
