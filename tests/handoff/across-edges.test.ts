import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { describeWith, readSse, startRedis, type TestRedis } from "@parley/test-support";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { chat, postChat } from "../system/chat.ts";
import { waitUntilSettled } from "../system/database.ts";
import { createTenant, type System, startSystem, type Tenant } from "../system/system.ts";
import { newClientAddress, TRUST_FORWARDED_FOR } from "../system/visitors.ts";

const ANNA = { id: "anna", name: "Anna" };
const MESSAGES = 200;
/** Below the rate limit of a person of the team, so that the messages of all tests of a minute pass. */
const PAUSE_MS = 20;
const CLAIMED_MS = { withRedis: 1_000, withoutRedis: 4_000 };
const KILLS = 3;
const SESSIONS = 36;

type Received = { id: string; text: string; atMs: number };

describeWith("redis", "a person's messages with several edges", () => {
  let redis: TestRedis;
  let system: System;
  let tenant: Tenant;
  beforeAll(async () => {
    redis = await startRedis();
    system = await startSystem({ edges: 2, redisUrl: redis.url, env: { edge: TRUST_FORWARDED_FOR } });
    // Each of these two edges knows nothing of the others.
    await Promise.all([system.startEdge({ REDIS_URL: "" }), system.startEdge({ REDIS_URL: "" })]);
    tenant = await createTenant(system.admin, { plan: "scale" });
  });
  afterAll(async () => {
    await system?.stop();
    await redis.stop();
  });

  let sessionId: string;
  let token: string;
  beforeEach(async () => {
    sessionId = randomUUID();
    await chat(system.url(), tenant, { session_id: sessionId });
    token = await signIn(tenant);
    expect(await post(0, "handoff", { action: "take", agent: ANNA })).toBe(200);
  });

  /** Returns a token of a new user, who may answer as any person: the rate limit counts by user. */
  const signIn = ({ workspaceId }: Tenant) =>
    system.sso.sign({
      iss: system.sso.issuer,
      aud: system.sso.audience,
      sub: randomUUID(),
      exp: Math.floor(Date.now() / 1_000) + 600,
      workspace_id: workspaceId,
      roles: ["parley-owner"],
    });

  /** Sends a request of the agent to an edge. Returns the status. */
  async function post(edge: number, path: string, body: object, session = sessionId): Promise<number> {
    const response = await fetch(`${system.url(edge)}/api/conversations/${session}/${path}/`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
      body: JSON.stringify(body),
    });
    await response.text();
    return response.status;
  }

  /** Follows the session, at the edges in turn, with `Last-Event-ID` after each loss of the connection, until the signal is aborted. */
  async function follow(edges: readonly number[], received: Received[], signal: AbortSignal): Promise<void> {
    const query = `public_key=${tenant.publicKey}&session_id=${sessionId}`;
    for (let attempt = 0; !signal.aborted; attempt++) {
      const last = received.at(-1)?.id;
      const headers = { origin: tenant.origin, ...(last !== undefined && { "last-event-id": last }) };
      const edge = edges[attempt % edges.length] ?? 0;
      try {
        const response = await fetch(`${system.url(edge)}/api/chat/live/?${query}`, { headers, signal });
        for await (const item of readSse(response, { signal })) {
          if (!("event" in item) || item.event !== "message") continue;
          const { content: text } = item.data as { content: string };
          received.push({ id: item.id ?? "", text, atMs: item.receivedAtMs });
        }
      } catch {
        // The edge was killed, or the test has ended.
        await sleep(50);
      }
    }
  }

  const texts = Array.from({ length: MESSAGES }, (_, index) => `message ${index}`);

  test.each([
    ["with Redis", 0, 1, CLAIMED_MS.withRedis],
    ["without Redis", 2, 3, CLAIMED_MS.withoutRedis],
  ] as const)(
    "%s, arrive once, in order and in time",
    async (name, writer, reader, claimedMs) => {
      const received: Received[] = [];
      const end = new AbortController();
      const following = follow([reader], received, end.signal);
      await sleep(500);
      const sentAtMs: number[] = [];
      for (const text of texts) {
        sentAtMs.push(performance.now());
        expect(await post(writer, "messages", { text, agent: ANNA })).toBe(200);
        await sleep(PAUSE_MS);
      }
      await expect.poll(() => received.length, { timeout: 20_000 }).toBe(MESSAGES);
      end.abort();
      await following;
      expect(received.map(({ text }) => text)).toEqual(texts);
      const latencies = received.map(({ atMs }, index) => atMs - (sentAtMs[index] ?? 0)).sort((a, b) => a - b);
      const [p50 = 0, p99 = 0] = [0.5, 0.99].map((share) => latencies[Math.floor(share * MESSAGES)]);
      console.info(`${name}: p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms of ${MESSAGES} messages`);
      expect(p50).toBeLessThanOrEqual(claimedMs);
      expect(p99).toBeLessThanOrEqual(claimedMs);
    },
    60_000,
  );

  test("arrive once and in order when the edge of the person and of the visitor is killed while the person writes", async () => {
    const received: Received[] = [];
    const end = new AbortController();
    const following = follow([0, 1], received, end.signal);
    const edge = system.edges[0];
    if (edge === undefined) throw new Error("there is no edge");
    const killAt = Array.from({ length: KILLS }, (_, kill) => Math.floor(((kill + 1) * MESSAGES) / (KILLS + 1)));
    let restart: Promise<void> | undefined;
    let repeated = 0;
    for (const [index, text] of texts.entries()) {
      const message = { text, agent: ANNA, request_id: randomUUID() };
      const sent = post(0, "messages", message).catch(() => 0);
      if (killAt.includes(index)) {
        await restart;
        // Sooner or later than the edge stores the message.
        await sleep(Math.random() * 10);
        restart = edge.kill9().then(() => edge.start());
      }
      if ((await sent) === 200) continue;
      repeated++;
      expect(await post(1, "messages", message)).toBe(200);
    }
    await restart;
    await expect.poll(() => received.length, { timeout: 20_000 }).toBeGreaterThanOrEqual(MESSAGES);
    // A message that arrives twice would arrive within the poll of the other edge.
    await sleep(1_000);
    end.abort();
    await following;
    console.info(`${KILLS} kills, ${repeated} messages sent again`);
    expect(repeated).toBeGreaterThanOrEqual(KILLS);
    expect(received.map(({ text }) => text)).toEqual(texts);
    expect(new Set(received.map(({ id }) => id)).size).toBe(MESSAGES);
  }, 60_000);

  test("conversations that are taken over, stopped, given back and erased while the bot answers leave no hold and no running turn", async () => {
    const slow = await createTenant(system.admin, { plan: "scale", model: "openai:tokens-15-every-60" });
    token = await signIn(slow);
    const { workspaceId } = slow;
    const outcomes: Record<string, number> = {};
    const run = async (index: number) => {
      const session = randomUUID();
      const [edge, other] = index % 2 === 0 ? [0, 1] : [1, 0];
      const headers = { "x-forwarded-for": newClientAddress() };
      const key = randomUUID();
      const send = async (more: Record<string, string> = {}) => {
        const all = { headers: { ...headers, ...more } };
        const text = await (await postChat(system.url(edge), slow, { session_id: session }, all)).text();
        const reason = /"finish_reason":"(\w+)"/.exec(text)?.[1] ?? "refused";
        outcomes[reason] = (outcomes[reason] ?? 0) + 1;
      };
      const first = send({ "idempotency-key": key });
      const stop = () =>
        fetch(`${system.url(other)}/api/chat/stop/`, {
          method: "POST",
          headers: { "content-type": "application/json", origin: slow.origin, ...headers },
          body: JSON.stringify({ public_key: slow.publicKey, session_id: session, idempotency_key: key }),
        });
      const operations: (() => Promise<unknown>)[] = [
        () => post(other, "handoff", { action: "take", agent: ANNA }, session),
        () => send(),
        stop,
        ...(index % 3 === 0 ? [() => post(edge, "handoff", { action: "resolve" }, session)] : []),
        ...(index % 4 === 0
          ? [() => system.admin.sessions.eraseSession({ workspaceId, sessionId: session }).catch(() => undefined)]
          : []),
      ];
      await Promise.all(
        operations.map(async (operation) => {
          await sleep(Math.random() * 1_500);
          await operation();
        }),
      );
      await first;
    };
    await Promise.all(Array.from({ length: SESSIONS }, (_, index) => run(index)));
    const balance = await waitUntilSettled(system.database, 30_000, workspaceId);
    console.info(JSON.stringify({ outcomes, ...balance }));
    expect(balance).toMatchObject({ held: 0, streaming: 0, outbox: 0, used: balance.done });
    expect(outcomes.cancelled).toBeGreaterThan(0);
    expect(outcomes.handoff).toBeGreaterThan(0);
  }, 60_000);
});
