import fastify from "fastify";
import { expect, test } from "vitest";
import { HttpError } from "../http/index.ts";
import { errors } from "../http/plugins/errors.plugin.ts";
import { createLocalLimiter } from "./local-limiter.ts";
import { createMalformedRequestLimiter } from "./malformed-requests.ts";
import { POLICIES, type RateLimiter } from "./rate-limiter.ts";

const { limit, windowMs } = POLICIES.malformed;

/**
 * Creates replicas that share one RateLimiter. Each element of `replicas` is a function that sends a request to one replica. Requests to /good
 * are well-formed, and requests to /bad are malformed.
 */
function createReplicas(count: number) {
  const clock = { now: 0 };
  const countedSubjects: unknown[] = [];
  const local = createLocalLimiter(() => clock.now);
  const limiter: RateLimiter = {
    take(policy, subject) {
      countedSubjects.push(subject);
      return local.take(policy, subject);
    },
  };
  const replicas = Array.from({ length: count }, () => {
    const malformedRequests = createMalformedRequestLimiter(limiter, () => clock.now);
    const app = fastify();
    void app.register(errors, { onRefusal: () => undefined, countMalformed: malformedRequests.count });
    app.after(() => {
      const onRequest = malformedRequests.refuseOverLimit;
      app.get("/good", { onRequest }, async () => "good");
      app.get("/bad", { onRequest }, async () => {
        throw new HttpError(400, "invalid_message");
      });
    });
    return async (path: "/good" | "/bad", remoteAddress = "192.0.2.1") =>
      app.inject({ url: path, remoteAddress }).then(({ statusCode, headers }) => ({ statusCode, headers }));
  });
  return { clock, countedSubjects, replicas };
}

test("when an address exceeds the limit, refuses all its requests until the oldest counted request leaves the window", async () => {
  const { clock, replicas } = createReplicas(1);
  const [send] = replicas;
  if (send === undefined) throw new Error("no replica");
  for (let sent = 0; sent < limit; sent++) {
    clock.now = sent * 10;
    expect((await send("/bad")).statusCode).toBe(400);
  }
  expect((await send("/good")).statusCode).toBe(200);
  clock.now = 10_000;
  expect((await send("/bad")).statusCode).toBe(429);
  const { statusCode, headers } = await send("/good");
  expect(statusCode).toBe(429);
  expect(headers).toMatchObject({
    "retry-after": "50",
    ratelimit: '"malformed";r=0;t=50',
    "ratelimit-policy": '"malformed";q=300;w=60',
  });
  clock.now = windowMs - 1;
  expect((await send("/good")).statusCode).toBe(429);
  clock.now = windowMs;
  expect((await send("/good")).statusCode).toBe(200);
  expect((await send("/bad")).statusCode).toBe(400);
});

test("calls the shared limiter neither for well-formed requests nor for any request of a refused address", async () => {
  const { countedSubjects, replicas } = createReplicas(1);
  const [send] = replicas;
  await send?.("/good");
  expect(countedSubjects).toEqual([]);
  for (let sent = 0; sent <= limit; sent++) await send?.("/bad");
  expect(countedSubjects).toHaveLength(limit + 1);
  await send?.("/good");
  await send?.("/bad");
  expect(countedSubjects).toHaveLength(limit + 1);
});

test("counts all addresses of a /64 together, and does not refuse the next /64", async () => {
  const { replicas } = createReplicas(1);
  const [send] = replicas;
  for (let sent = 0; sent <= limit; sent++) await send?.("/bad", `2001:db8:0:1::${sent.toString(16)}`);
  expect((await send?.("/good", "2001:db8:0:1:ffff::1"))?.statusCode).toBe(429);
  expect((await send?.("/good", "2001:db8:0:2::1"))?.statusCode).toBe(200);
});

test("if an address exceeded the limit at one replica, another replica refuses the address from the next malformed request on", async () => {
  const { replicas } = createReplicas(2);
  const [first, second] = replicas;
  for (let sent = 0; sent <= limit; sent++) await first?.("/bad");
  expect((await second?.("/good"))?.statusCode).toBe(200);
  expect((await second?.("/bad"))?.statusCode).toBe(429);
  expect((await second?.("/good"))?.statusCode).toBe(429);
});

test("when an IPv6 /56 exceeds 4 times the limit, refuses all requests from its addresses, and none from another /56", async () => {
  const { replicas } = createReplicas(1);
  const [send] = replicas;
  if (send === undefined) throw new Error("no replica");
  for (let sent = 0; sent < 4 * limit; sent++) await send("/bad", `2001:db8:1:ab${(sent % 5) + 10}::1`);
  expect((await send("/bad", "2001:db8:1:abcd::1")).statusCode).toBe(429);
  expect((await send("/good", "2001:db8:1:abff::1")).statusCode).toBe(429);
  expect((await send("/good", "2001:db8:1:acff::1")).statusCode).toBe(200);
});
