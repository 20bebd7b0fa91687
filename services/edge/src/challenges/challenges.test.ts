import { solveChallenge } from "altcha-lib";
import { deriveKey } from "altcha-lib/algorithms/pbkdf2";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { CHALLENGE_TTL_MS, type Challenged, createChallenges, PASS_TTL_MS } from "./challenges.ts";

type Challenge = Awaited<ReturnType<typeof challenges.create>>;
type Solved = { challenge: Challenge; solution: { counter: number; derivedKey: string } };

const CHALLENGED: Challenged = { publicKey: "svc_pk_1", sessionId: "session-1", clientBucket: "192.0.2.1" };
const OTHERS: [name: string, challenged: Challenged][] = [
  ["key", { ...CHALLENGED, publicKey: "svc_pk_2" }],
  ["session", { ...CHALLENGED, sessionId: "session-2" }],
  ["address", { ...CHALLENGED, clientBucket: "192.0.2.2" }],
];
const challenges = createChallenges(() => "Bearer token");
const otherInstallation = createChallenges(() => "Bearer other");

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

async function solve(challenged = CHALLENGED): Promise<Solved> {
  const challenge = await challenges.create(challenged);
  const solution = await solveChallenge({ challenge, deriveKey });
  if (solution === null) throw new Error("not solved");
  return { challenge, solution };
}
const encode = (payload: unknown) => Buffer.from(JSON.stringify(payload)).toString("base64");
const verify = (payload: unknown, challenged = CHALLENGED) => challenges.verify(challenged, encode(payload));

test("accepts a solution on every replica, and returns the signature of its challenge", async () => {
  const solved = await solve();
  expect(await verify(solved)).toEqual({ signature: solved.challenge.signature });
  const otherReplica = createChallenges(() => "Bearer token");
  expect(await otherReplica.verify(CHALLENGED, encode(solved))).toEqual({ signature: solved.challenge.signature });
  expect(await otherInstallation.verify(CHALLENGED, encode(solved))).toBe("signature");
});

test.each(OTHERS)("refuses a solution for another %s", async (_, challenged) => {
  expect(await verify(await solve(), challenged)).toBe("signature");
});

test("refuses an expired solution", async () => {
  const solved = await solve();
  vi.advanceTimersByTime(CHALLENGE_TTL_MS - 1_000);
  expect(await verify(solved)).toHaveProperty("signature");
  vi.advanceTimersByTime(2_000);
  expect(await verify(solved)).toBe("expired");
});

const parameters = (changes: object) => (solved: Solved) => ({
  ...solved,
  challenge: { ...solved.challenge, parameters: { ...solved.challenge.parameters, ...changes } },
});
test.each<[name: string, fault: string, tamper: (solved: Solved) => unknown]>([
  ["an easier challenge", "signature", parameters({ cost: 1 })],
  ["a challenge without an end", "signature", parameters({ expiresAt: undefined })],
  ["a challenge with a later end", "signature", parameters({ expiresAt: 9_999_999_999 })],
  ["a challenge without the signature of its solution", "signature", parameters({ keySignature: undefined })],
  ["a forged signature", "signature", (s) => ({ ...s, challenge: { ...s.challenge, signature: "0".repeat(64) } })],
  ["an empty signature", "signature", (s) => ({ ...s, challenge: { ...s.challenge, signature: "" } })],
  ["no parameters", "signature", (s) => ({ ...s, challenge: { ...s.challenge, parameters: {} } })],
  ["a wrong key", "solution", (s) => ({ ...s, solution: { counter: 1, derivedKey: "00".repeat(32) } })],
  [
    "the prefix as the key",
    "solution",
    (s) => ({ ...s, solution: { counter: 1, derivedKey: s.challenge.parameters.keyPrefix } }),
  ],
  ["a key that is no text", "malformed", (s) => ({ ...s, solution: { counter: 1, derivedKey: 5 } })],
  ["no solution", "malformed", ({ challenge }) => ({ challenge })],
  ["no signature", "malformed", ({ challenge: { signature: _, ...challenge }, ...s }) => ({ ...s, challenge })],
  ["a signature that is no text", "malformed", (s) => ({ ...s, challenge: { ...s.challenge, signature: ["0"] } })],
  ["null", "malformed", () => null],
  ["a list", "malformed", () => []],
])("refuses %s: %s", async (_, fault, tamper) => {
  expect(await verify(tamper(await solve()))).toBe(fault);
});

test.each(["", "no base64 !", "bm90IGpzb24=", encode("x").slice(1), "{}"])("refuses the text %j", async (text) => {
  expect(await challenges.verify(CHALLENGED, text)).toBe("malformed");
});

test("two challenges differ, and name neither the key nor the session nor the address", async () => {
  const [first, second] = [await challenges.create(CHALLENGED), await challenges.create(CHALLENGED)];
  expect(first.signature).not.toBe(second.signature);
  for (const value of Object.values(CHALLENGED)) expect(JSON.stringify(first)).not.toContain(value);
});

test("a pass is valid for 24 hours, for its key, session and address", () => {
  const { pass, expiresAt } = challenges.issuePass(CHALLENGED);
  expect(expiresAt.getTime() - Date.now()).toBeGreaterThan(PASS_TTL_MS - 1_000);
  expect(challenges.readPass(CHALLENGED, pass)).toEqual({ id: expect.stringMatching(/^[\w-]{22}$/) });
  for (const [, challenged] of OTHERS) expect(challenges.readPass(challenged, pass)).toBe("invalid");
  expect(otherInstallation.readPass(CHALLENGED, pass)).toBe("invalid");
  vi.advanceTimersByTime(PASS_TTL_MS - 1_000);
  expect(challenges.readPass(CHALLENGED, pass)).toHaveProperty("id");
  vi.advanceTimersByTime(1_000);
  expect(challenges.readPass(CHALLENGED, pass)).toBe("expired");
});

test("a tampered pass is invalid", () => {
  const { pass } = challenges.issuePass(CHALLENGED);
  const [id = "", expiresAt = "", signature = ""] = pass.split(".");
  const flipped = (text: string) => `${text.startsWith("A") ? "B" : "A"}${text.slice(1)}`;
  for (const tampered of [
    `${flipped(id)}.${expiresAt}.${signature}`,
    `${id}.${Number(expiresAt) + 1}.${signature}`,
    `${id}.${expiresAt}.${flipped(signature)}`,
    `${id}.${expiresAt}.`,
    `${id}.${expiresAt}`,
    ` ${pass}`,
    `${pass}\n`,
    `${pass}.`,
    "",
    "x".repeat(100_000),
  ])
    expect(challenges.readPass(CHALLENGED, tampered)).toBe("invalid");
});
