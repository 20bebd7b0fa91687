import type { FastifyReply } from "fastify";
import { expect, test } from "vitest";
import { createLocalLimiter } from "./local-limiter.ts";
import { POLICIES } from "./rate-limiter.ts";
import { createUnpaidReplyLimiter } from "./unpaid-replies.ts";

const HOUR_MS = 3_600_000;
const CLIENT = Buffer.from("client");

function createReplicas(count: number) {
  const clock = { now: 0 };
  const limiter = createLocalLimiter(() => clock.now);
  return { clock, replicas: Array.from({ length: count }, () => createUnpaidReplyLimiter(limiter, () => clock.now)) };
}

function refusalOf(replica: ReturnType<typeof createUnpaidReplyLimiter> | undefined, client = CLIENT) {
  const headers: Record<string, unknown> = {};
  const setHeader = (name: string, value: unknown) => {
    headers[name] = value;
  };
  const reply = { header: setHeader } as unknown as FastifyReply;
  const refusal = replica?.findRefusal(client, reply);
  return refusal && { status: refusal.status, retryAfter: Number(refusal.headers["retry-after"]), headers };
}

test("refuses a client after 20 unpaid replies in an hour, until the oldest is an hour old", async () => {
  const { clock, replicas } = createReplicas(1);
  const [replica] = replicas;
  for (let i = 0; i < 20; i++) {
    expect(refusalOf(replica)).toBeUndefined();
    clock.now = i * 60_000;
    await replica?.count(CLIENT);
  }
  expect(refusalOf(replica)).toMatchObject({
    status: 429,
    retryAfter: (HOUR_MS - 19 * 60_000) / 1_000,
    headers: { "ratelimit-policy": '"unpaid";q=20;w=3600' },
  });
  expect(replica?.isRefused(CLIENT)).toBe(true);
  expect(refusalOf(replica, Buffer.from("another"))).toBeUndefined();
  clock.now = HOUR_MS + 1;
  expect(replica?.isRefused(CLIENT)).toBe(false);
  expect(refusalOf(replica)).toBeUndefined();
  await replica?.count(CLIENT);
  expect(refusalOf(replica)).toMatchObject({ status: 429 });
});

test("refuses a client after 30 unpaid replies in a day", async () => {
  const { clock, replicas } = createReplicas(1);
  const [replica] = replicas;
  for (let i = 0; i < 30; i++) {
    clock.now = i * 10 * 60_000;
    expect(refusalOf(replica)).toBeUndefined();
    await replica?.count(CLIENT);
  }
  expect(refusalOf(replica)).toMatchObject({ headers: { "ratelimit-policy": '"unpaid-day";q=30;w=86400' } });
  clock.now = 23 * HOUR_MS;
  expect(refusalOf(replica)).toMatchObject({ retryAfter: 3_600 });
});

test("with shared counts, another replica refuses the client from its next unpaid reply on", async () => {
  const { replicas } = createReplicas(2);
  for (let i = 0; i < POLICIES.unpaidHour.limit; i++) await replicas[0]?.count(CLIENT);
  expect(refusalOf(replicas[0])).toMatchObject({ status: 429 });
  expect(refusalOf(replicas[1])).toBeUndefined();
  await replicas[1]?.count(CLIENT);
  expect(refusalOf(replicas[1])).toMatchObject({ status: 429 });
});

test("one client cannot reach the smallest bound of a workspace, 50 a day", () => {
  expect(POLICIES.unpaidDay.limit).toBeLessThan(50);
});
