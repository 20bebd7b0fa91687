import { expect, test } from "vitest";
import { HttpError } from "../http/index.ts";
import { createClientHash } from "./client-hash.ts";
import { createLocalLimiter } from "./local-limiter.ts";
import { countVisitorMessage, type VisitorMessage, visitorPolicy } from "./visitor-messages.ts";

const HOUR_MS = 3_600_000;
const MESSAGE: VisitorMessage = {
  workspaceId: "ws",
  botId: "bot",
  sessionId: "s",
  visitorId: "",
  visitorVerified: false,
  clientBucket: "192.0.2.1",
  messageId: "m",
};

function createCounter(limit: number) {
  const clock = { now: 0 };
  const deps = { limiter: createLocalLimiter(() => clock.now), hashClient: createClientHash(() => "secret") };
  /** Returns undefined if the message is allowed. */
  const send = async (message: Partial<VisitorMessage>) => {
    const counted = countVisitorMessage(deps, { ...MESSAGE, ...message }, visitorPolicy(limit));
    const error = await counted.catch((thrown: unknown) => thrown);
    if (error === undefined) return undefined;
    const { status, code, reason, headers } = error as HttpError;
    expect(error).toBeInstanceOf(HttpError);
    expect([status, code]).toEqual([429, "visitor_limit"]);
    return { reason, headers };
  };
  return { clock, send };
}

test("a verified visitor has one count over all sessions and addresses", async () => {
  const { clock, send } = createCounter(2);
  const ada = { visitorId: "ada", visitorVerified: true };
  expect(await send({ ...ada, sessionId: "1", clientBucket: "192.0.2.1" })).toBeUndefined();
  clock.now = HOUR_MS;
  expect(await send({ ...ada, sessionId: "2", clientBucket: "192.0.2.2" })).toBeUndefined();
  expect(await send({ ...ada, sessionId: "3", clientBucket: "192.0.2.3" })).toEqual({
    reason: "visitor",
    headers: {
      "retry-after": String(23 * 3_600),
      "ratelimit-policy": '"visitor";q=2;w=86400',
      ratelimit: `"visitor";r=0;t=${23 * 3_600}`,
    },
  });
  expect(await send({ ...ada, visitorId: "bob" })).toBeUndefined();
  expect(await send({ ...ada, botId: "other" })).toBeUndefined();
  expect(await send({ visitorId: "ada" })).toBeUndefined();
  clock.now = 24 * HOUR_MS;
  expect(await send(ada)).toBeUndefined();
});

test("other messages count in their session and their address, and a refused message in neither", async () => {
  const { send } = createCounter(2);
  expect(await send({ clientBucket: "192.0.2.1" })).toBeUndefined();
  expect(await send({ clientBucket: "192.0.2.2" })).toBeUndefined();
  for (let i = 0; i < 3; i++) expect(await send({ clientBucket: "192.0.2.1" })).toMatchObject({ reason: "session" });
  expect(await send({ sessionId: "t", clientBucket: "192.0.2.1" })).toBeUndefined();
  expect(await send({ sessionId: "u", clientBucket: "192.0.2.1" })).toMatchObject({ reason: "address" });
  expect(await send({ sessionId: "u", clientBucket: "192.0.2.3", visitorId: "claimed" })).toBeUndefined();
});

test("an IPv6 client is counted by its /64, its /56 and its /48", async () => {
  const { send } = createCounter(1);
  let sessions = 0;
  const sendFrom = (network: string) =>
    send({ sessionId: `${sessions++}`, clientBucket: `2001:db8:1:${network}::/64` });
  for (let i = 0; i < 4; i++) expect(await sendFrom(`ab0${i}`)).toBeUndefined();
  expect(await sendFrom("ab00")).toMatchObject({ reason: "address" });
  expect(await sendFrom("ab05")).toMatchObject({ reason: "address" });
  expect(await sendFrom("ac00")).toBeUndefined();
});
