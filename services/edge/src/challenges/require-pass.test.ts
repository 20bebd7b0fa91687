import { createRegistry } from "@parley/service-kit";
import { expect, test } from "vitest";
import type { HttpError } from "../http/index.ts";
import { createClientHash } from "../rate-limits/client-hash.ts";
import { createLocalLimiter } from "../rate-limits/local-limiter.ts";
import { solveToText } from "../testing/solve-challenge.ts";
import { createChallengeMetrics } from "./challenge.metrics.ts";
import { type Challenged, createChallenges } from "./challenges.ts";
import { type ChallengeDeps, type ChallengedMessage, redeemSolution, requirePass } from "./require-pass.ts";

const MINUTE_MS = 60_000;
const CHALLENGED: Challenged = { publicKey: "svc_pk_1", sessionId: "session-1", clientBucket: "192.0.2.1" };

function createGate({ cap = 0 } = {}) {
  const clock = { now: 0 };
  const deps: ChallengeDeps = {
    limiter: createLocalLimiter(() => clock.now),
    hashClient: createClientHash(() => "secret"),
    challenges: createChallenges(() => "secret"),
    readMonthlyCap: async () => cap,
    challengeMetrics: createChallengeMetrics(createRegistry("test")),
  };
  let messages = 0;
  /** Sends a message from `address`. Returns undefined if it is accepted, otherwise the reason. */
  const send = async (fields: Partial<ChallengedMessage> & { address?: string } = {}) => {
    const { address = CHALLENGED.clientBucket, ...rest } = fields;
    const message = { setting: "always" as const, pass: undefined, workspaceId: "ws", messageId: String(messages++) };
    const challenged = { ...CHALLENGED, clientBucket: address };
    const error = await requirePass(deps, { ...message, challenged, ...rest }).catch((thrown: unknown) => thrown);
    if (error === undefined) return undefined;
    expect(error).toMatchObject({
      status: 403,
      code: "challenge_required",
      fields: { challenge: { parameters: { algorithm: "PBKDF2/SHA-256" } } },
    });
    return (error as HttpError).reason;
  };
  const buyPass = async (challenged = CHALLENGED) => {
    const solution = await solveToText(await deps.challenges.create(challenged));
    return (await redeemSolution(deps, challenged, solution)).pass;
  };
  const read = async (metric: keyof typeof deps.challengeMetrics) =>
    Object.fromEntries(
      (await deps.challengeMetrics[metric].get()).values
        .filter(({ value }) => value > 0)
        .map(({ labels, value }) => [labels.result, value]),
    );
  return { clock, deps, send, buyPass, read };
}

test("with `always`, a message needs a valid pass, which is good for 20 messages", async () => {
  const { deps, send, buyPass, read } = createGate();
  expect(await send()).toBe("missing");
  expect(await send({ pass: "x" })).toBe("invalid");
  const pass = await buyPass();
  expect(await send({ pass, challenged: { ...CHALLENGED, sessionId: "session-2" } })).toBe("invalid");
  for (let i = 0; i < 20; i++) expect(await send({ pass })).toBeUndefined();
  expect(await send({ pass })).toBe("used-up");
  expect(await send({ pass: await buyPass() })).toBeUndefined();
  expect(await read("passes")).toEqual({ missing: 1, invalid: 2, accepted: 21, "used-up": 1 });
  expect(await read("challenges")).toEqual({ asked: 4, solved: 2 });
  expect(deps.challenges.readPass(CHALLENGED, pass)).toHaveProperty("id");
});

test("a solution buys one pass, and a refused one a new challenge", async () => {
  const { deps, read } = createGate();
  const redeem = async (solution: string) =>
    redeemSolution(deps, CHALLENGED, solution).then(
      () => "accepted",
      ({ code, reason, fields }: HttpError) => {
        expect([code, Object.keys(fields)]).toEqual(["challenge_required", ["challenge"]]);
        return reason;
      },
    );
  const solution = await solveToText(await deps.challenges.create(CHALLENGED));
  const results = await Promise.all(Array.from({ length: 5 }, () => redeem(solution)));
  expect(results.toSorted()).toEqual(["accepted", "used", "used", "used", "used"]);
  expect(await redeem("x")).toBe("malformed");
  expect(await read("challenges")).toEqual({ asked: 5, solved: 1, used: 4, malformed: 1 });
});

test("with `suspicious`, the 21st message of an address within an hour needs a pass", async () => {
  const { clock, send, buyPass } = createGate({ cap: 100_000 });
  const setting = "suspicious";
  for (let i = 0; i < 20; i++) {
    expect(await send({ setting })).toBeUndefined();
    clock.now += MINUTE_MS;
  }
  expect(await send({ setting })).toBe("missing");
  expect(await send({ setting, address: "192.0.2.2" })).toBeUndefined();
  expect(await send({ setting, workspaceId: "other" })).toBeUndefined();
  const pass = await buyPass();
  expect(await send({ setting, pass })).toBeUndefined();
  // The first message has left the window, but the one with the pass counts too.
  clock.now = 60 * MINUTE_MS;
  expect(await send({ setting })).toBe("missing");
  clock.now = 61 * MINUTE_MS;
  expect(await send({ setting })).toBeUndefined();
  expect(await send({ setting })).toBe("missing");
});

test.each([
  ["20 messages", 0, 20],
  ["20 messages", 1_049, 20],
  ["2 % of the month", 1_050, 21],
  ["2 % of the month", 20_000, 400],
])("with `suspicious`, a workspace may send %s (of a month of %i) within ten minutes", async (_, cap, allowed) => {
  const { clock, send, buyPass } = createGate({ cap });
  const setting = "suspicious";
  let addresses = 0;
  const newAddress = () => `10.0.${addresses >> 8}.${addresses++ & 255}`;
  for (let i = 0; i < allowed; i++) expect(await send({ setting, address: newAddress() })).toBeUndefined();
  expect(await send({ setting, address: newAddress() })).toBe("missing");
  expect(await send({ setting, address: newAddress(), workspaceId: "other" })).toBeUndefined();
  const pass = await buyPass();
  expect(await send({ setting, pass })).toBeUndefined();
  clock.now = 10 * MINUTE_MS;
  expect(await send({ setting, address: newAddress() })).toBeUndefined();
});

test("with `suspicious`, a message that is refused for the pace of its workspace does not count for its address", async () => {
  const { clock, send } = createGate();
  const setting = "suspicious";
  for (let i = 0; i < 20; i++) expect(await send({ setting, address: `10.0.0.${i}` })).toBeUndefined();
  for (let i = 0; i < 25; i++) expect(await send({ setting })).toBe("missing");
  clock.now = 10 * MINUTE_MS;
  for (let i = 0; i < 20; i++) expect(await send({ setting })).toBeUndefined();
  expect(await send({ setting })).toBe("missing");
});

test("with `suspicious`, a message that is refused for the pace of its address does not count for its workspace", async () => {
  const { send } = createGate({ cap: 1_500 });
  const setting = "suspicious";
  for (let i = 0; i < 20; i++) expect(await send({ setting })).toBeUndefined();
  for (let i = 0; i < 25; i++) expect(await send({ setting })).toBe("missing");
  for (let i = 0; i < 10; i++) expect(await send({ setting, address: `10.0.0.${i}` })).toBeUndefined();
  expect(await send({ setting, address: "10.0.0.10" })).toBe("missing");
});

test("with `suspicious`, a message that needs no pass does not use the one that it has", async () => {
  const { send, buyPass, read } = createGate({ cap: 100_000 });
  const pass = await buyPass();
  for (let i = 0; i < 20; i++) expect(await send({ setting: "suspicious", pass })).toBeUndefined();
  expect(await read("passes")).toEqual({});
  for (let i = 0; i < 20; i++) expect(await send({ setting: "suspicious", pass })).toBeUndefined();
  expect(await send({ setting: "suspicious", pass })).toBe("used-up");
});

test("with `suspicious`, the addresses of an IPv6 /56 together may send 80 messages within an hour", async () => {
  const { send } = createGate({ cap: 100_000 });
  const sendFrom = (index: number) => send({ setting: "suspicious", address: `2001:db8:1:ab${10 + index}::/64` });
  for (let i = 0; i < 80; i++) expect(await sendFrom(i % 40)).toBeUndefined();
  expect(await sendFrom(50)).toBe("missing");
});
