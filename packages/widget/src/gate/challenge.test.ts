import { pbkdf2Sync } from "node:crypto";
import { createChallenge, verifySolution } from "altcha-lib";
import { deriveKey } from "altcha-lib/algorithms/pbkdf2";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Failure } from "../shared/failure.ts";
import { passChallenge, solve } from "./challenge.ts";
import { pbkdf2 } from "./pbkdf2.ts";

const secrets = { hmacSignatureSecret: "challenge", hmacKeySignatureSecret: "solution" };
const signal = new AbortController().signal;
const create = (counter = 9) =>
  createChallenge({ ...secrets, algorithm: "PBKDF2/SHA-256", cost: 50, counter, deriveKey });
type Challenge = Awaited<ReturnType<typeof create>>;

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

/** Passes on a page that is served over plain HTTP. */
const removeSubtle = () => vi.stubGlobal("crypto", {});

it.each([
  ["with crypto.subtle", () => undefined],
  ["without crypto.subtle", removeSubtle],
])("ALTCHA's library accepts the solution that was found %s", async (_, prepare) => {
  for (const counter of [0, 3, 300]) {
    const challenge = await create(counter);
    prepare();
    const solution = await solve(challenge, signal);
    vi.unstubAllGlobals();
    expect(solution.counter).toBe(counter);
    expect(await verifySolution({ ...secrets, challenge, solution, deriveKey })).toMatchObject({ verified: true });
  }
});

it.each([
  [20, 16, 1],
  [1, 1, 2],
  [64, 51, 1_000],
])(
  "derives the same key as Node from %i bytes of password, %i bytes of salt and %i iterations",
  (length, saltLength, iterations) => {
    const password = Uint8Array.from({ length }, (_, i) => 251 * i);
    const salt = Uint8Array.from({ length: saltLength }, (_, i) => 255 - 3 * i);
    expect(Buffer.from(pbkdf2(password, salt, iterations))).toEqual(
      pbkdf2Sync(password, salt, iterations, 32, "sha256"),
    );
  },
);

it("stops when the visitor stops the message", async () => {
  const stop = new AbortController();
  const solving = solve({ parameters: { nonce: "00", salt: "00", cost: 1, keyPrefix: "none" } }, stop.signal);
  stop.abort(new Error("stopped"));
  await expect(solving).rejects.toThrow("stopped");
});

let responses: (() => Response | Promise<Response>)[];
let requests: { url: string; body: Record<string, string> }[];
beforeEach(() => {
  requests = [];
  box = { textContent: "" };
  vi.stubGlobal("navigator", { onLine: true });
  vi.stubGlobal("fetch", async (url: string, { body }: { body: string }) => {
    requests.push({ url, body: JSON.parse(body) as Record<string, string> });
    return responses.shift()?.();
  });
});

const announce = vi.fn();
let box: { textContent: string };
const refusal = (challenge: Challenge) => new Failure("challenge_required", 0, "r", { challenge });
const pass = async (challenge?: Challenge) =>
  passChallenge({
    base: "https://chat.example/",
    publicKey: "svc_pk_1",
    words: { checking: "Checking" },
    refusal: refusal(challenge ?? (await create())),
    session: "s-1",
    signal,
    box,
    announce,
  });
const accept = () => Response.json({ challenge_pass: "pass", expires_at: "", messages: 20 });
const decode = ({ body }: { body: Record<string, string> }) => JSON.parse(atob(String(body.solution))) as object;

it("sends the challenge with its solution, and returns the pass", async () => {
  responses = [accept];
  const challenge = await create();
  expect(await pass(challenge)).toEqual({ challenge_pass: "pass" });
  expect(requests).toMatchObject([
    { url: "https://chat.example/api/chat/challenge/", body: { public_key: "svc_pk_1", session_id: "s-1" } },
  ]);
  expect(requests.map(decode)).toMatchObject([{ challenge, solution: { counter: 9 } }]);
});

it("solves the new challenge if the solution is refused, at most three in all", async () => {
  const [second, third] = [await create(1), await create(2)];
  const refuse = (challenge: Challenge) => () =>
    Response.json({ error: "challenge_required", challenge }, { status: 403 });
  responses = [refuse(second), accept];
  expect(await pass()).toEqual({ challenge_pass: "pass" });
  expect(requests.map(decode)).toMatchObject([{}, { challenge: second }]);
  responses = [refuse(second), refuse(third), refuse(second)];
  await expect(pass()).rejects.toMatchObject({ code: "challenge_required" });
  expect(requests).toHaveLength(5);
});

it("fails with the service's code, or with that of a lost connection", async () => {
  responses = [() => Response.json({ error: "rate_limited" }, { status: 429 })];
  await expect(pass()).rejects.toMatchObject({ code: "rate_limited" });
  responses = [() => Promise.reject(new TypeError("Failed to fetch"))];
  await expect(pass()).rejects.toMatchObject({ code: "network" });
});

it("shows and announces the check only if it takes longer than 2 s", async () => {
  responses = [accept];
  await pass();
  expect(announce).not.toHaveBeenCalled();
  expect(box.textContent).toBe("");
  const challenge = await create();
  vi.useFakeTimers();
  const answered = Promise.withResolvers<Response>();
  responses = [() => answered.promise];
  const passing = pass(challenge);
  await vi.waitFor(() => expect(responses).toHaveLength(0));
  vi.advanceTimersByTime(2_000);
  expect(announce).toHaveBeenCalledExactlyOnceWith("Checking");
  expect(box.textContent).toBe("Checking");
  answered.resolve(accept());
  expect(await passing).toEqual({ challenge_pass: "pass" });
});

it("gives up if the service does not answer within 15 s", async () => {
  const timer = new AbortController();
  const timeout = vi.spyOn(AbortSignal, "timeout").mockReturnValue(timer.signal);
  vi.stubGlobal("fetch", (_: string, { signal: own }: { signal: AbortSignal }) => {
    setTimeout(() => timer.abort(new Error("timeout")));
    return new Promise((_resolve, reject) => own.addEventListener("abort", () => reject(own.reason)));
  });
  await expect(pass()).rejects.toMatchObject({ code: "network" });
  expect(timeout.mock.calls).toEqual([[15_000]]);
  timeout.mockRestore();
});
