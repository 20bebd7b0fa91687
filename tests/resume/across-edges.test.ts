import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient, GrpcTransport, openChannel, type RpcError } from "@parley/rpc";
import { EdgeService } from "@parley/rpc/edge";
import { type Reply, readSse, type SseEvent } from "@parley/test-support";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { type ChatResult, postChat, readChat } from "../system/chat.ts";
import { cliEnv, runCliInProcess, runCliJson } from "../system/cli.ts";
import { queryFirstRow, readBalance } from "../system/database.ts";
import { readMetric } from "../system/metrics.ts";
import { ADMIN_TOKEN, INTERNAL_TOKEN, type ServiceProcess } from "../system/processes.ts";
import { createTenant, type System, startSystem, type Tenant } from "../system/system.ts";
import { generatedClientSuite } from "./suites/generated-client.ts";

const TOKENS = Array.from({ length: 15 }, (_, index) => `t${index} `);
const TEXT = TOKENS.join("");
/** Streams TEXT in 3 s. */
const MODEL = "openai:tokens-15-every-200";
/** Streams TEXT in 6 s, for tests that end a reply early. */
const SLOW_REPLY: Reply = { tokens: TOKENS, everyMs: 400 };
const LEASE_SECONDS = 3;
/** A timeout long enough for a busy machine. */
const WAIT_MS = 20_000;

let system: System;
let tenant: Tenant;
beforeAll(async () => {
  system = await startSystem({
    edges: 2,
    env: { conversation: { EDGE_LEASE_SECONDS: String(LEASE_SECONDS) }, edge: { TRUSTED_PROXIES: "127.0.0.0/8" } },
  });
  tenant = await createTenant(system.admin, { plan: "scale", model: MODEL });
});
afterAll(() => system.stop());
beforeEach(() => system.provider.reset());

type Message = { fields: { session_id: string }; key: string };
const newMessage = (): Message => ({ fields: { session_id: randomUUID() }, key: randomUUID() });
const urlOf = (edge: ServiceProcess) => `http://127.0.0.1:${edge.port}`;
const edgeAt = (index: number): ServiceProcess => {
  const edge = system.edges[index];
  if (edge === undefined) throw new Error(`there is no edge ${index}`);
  return edge;
};

function send(edge: ServiceProcess, { fields, key }: Message, lastEventId?: string): Promise<Response> {
  const headers = { "idempotency-key": key, ...(lastEventId !== undefined && { "last-event-id": lastEventId }) };
  return postChat(urlOf(edge), tenant, fields, { headers });
}

const read = async (...args: Parameters<typeof send>): Promise<ChatResult> => readChat(await send(...args));

/** Sends a message and waits until the provider has sent the first words of its reply. `end` resolves with the whole reply. */
async function open(edge: ServiceProcess, message: Message): Promise<{ end: Promise<ChatResult> }> {
  const index = system.provider.requests.length;
  const end = read(edge, message);
  await expect
    .poll(() => system.provider.requests[index]?.tokensSent ?? 0, { timeout: WAIT_MS })
    .toBeGreaterThanOrEqual(3);
  return { end };
}

/** Reads a running reply, and waits for its first text. `end` resolves when the connection ends. */
async function follow(edge: ServiceProcess, message: Message): Promise<{ end: Promise<"whole" | "reset"> }> {
  const firstText = Promise.withResolvers<void>();
  const end = readEvents(await send(edge, message), () => firstText.resolve()).then(
    () => "whole" as const,
    () => "reset" as const,
  );
  await Promise.race([firstText.promise, end]);
  return { end };
}

/** Reads events until the text has at least `length` characters, then disconnects. */
async function readPart(edge: ServiceProcess, message: Message, length: number): Promise<{ text: string; id: string }> {
  let text = "";
  let id = "";
  for await (const item of readSse(await send(edge, message))) {
    if (!("event" in item)) continue;
    id = item.id ?? "";
    if (item.event === "token") text += (item.data as { text: string }).text;
    if (text.length >= length) break;
  }
  return { text, id };
}

async function readEvents(response: Response, onToken: () => void): Promise<void> {
  for await (const item of readSse(response)) if ("event" in item && item.event === "token") onToken();
}

const stop = (edge: ServiceProcess, { fields, key }: Message) =>
  fetch(`${urlOf(edge)}/api/chat/stop/`, {
    method: "POST",
    headers: { origin: tenant.origin },
    body: JSON.stringify({ public_key: tenant.publicKey, ...fields, idempotency_key: key }),
  });

async function statusOf({ fields }: Message): Promise<string> {
  const { status } = await queryFirstRow<{ status: string }>(
    system.database,
    "SELECT status FROM conversation.turns WHERE session_id = $1",
    [fields.session_id],
  );
  return status;
}

const countAttaches = (edge: ServiceProcess, where: string) =>
  readMetric(edge, "parley_turn_attaches_total", { where });

test("a request to another bot with the idempotency key of a running reply gets session_not_found at every edge", async () => {
  const { workspaceId } = tenant;
  await system.admin.bots.createBot({ workspaceId, slug: "other-bot", changes: { model: MODEL } });
  const { key } = await system.admin.keys.createKey({ workspaceId, botSlug: "other-bot", domains: ["shop.example"] });
  const message = newMessage();
  const opener = await open(edgeAt(0), message);
  const otherBot = { ...tenant, publicKey: key?.publicKey ?? "" };
  const { fields, key: idempotencyKey } = message;
  for (const url of system.edges.map(urlOf))
    for (const changes of [{}, { message: "another" }]) {
      const response = await postChat(
        url,
        otherBot,
        { ...fields, ...changes },
        { headers: { "idempotency-key": idempotencyKey } },
      );
      expect([response.status, await response.json()]).toEqual([404, { error: "session_not_found" }]);
    }
  expect((await opener.end).text).toBe(TEXT);
});

describe("a reply that another edge runs", () => {
  test("is read from its start, live and to its end", async () => {
    const message = newMessage();
    const before = await countAttaches(edgeAt(1), "remote");
    const opener = await open(edgeAt(0), message);
    const remote = await send(edgeAt(1), message);
    const arrivals: number[] = [];
    const events: SseEvent[] = [];
    for await (const item of readSse(remote)) {
      if (!("event" in item)) continue;
      events.push(item);
      arrivals.push(item.receivedAtMs);
    }
    const first = await opener.end;
    const text = events
      .filter(({ event }) => event === "token")
      .map(({ data }) => (data as { text: string }).text)
      .join("");
    expect([first.text, text]).toEqual([TEXT, TEXT]);
    expect(events.at(-1)).toMatchObject({ id: first.events.at(-1)?.id, data: first.done });
    // Live: the events come over time, not at the end.
    expect((arrivals.at(-1) ?? 0) - (arrivals[0] ?? 0)).toBeGreaterThan(1_000);
    expect(system.provider.requests).toHaveLength(1);
    expect(await countAttaches(edgeAt(1), "remote")).toBe(before + 1);
  });

  test("continues after Last-Event-ID", async () => {
    const message = newMessage();
    const part = await readPart(edgeAt(0), message, 9);
    const rest = await read(edgeAt(1), message, part.id);
    expect(part.text + rest.text).toBe(TEXT);
    expect(rest.done).toMatchObject({ finish_reason: "stop" });
    expect(await statusOf(message)).toBe("done");
    const args = ["explain", String(rest.meta?.message_id), "--workspace", tenant.workspaceId];
    const { stdout } = await runCliInProcess(args, cliEnv(system));
    expect(stdout).toMatch(/^readers +reconnected 1×$/m);
    expect(await runCliJson(args, cliEnv(system))).toMatchObject({ reconnects: 1 });
  });

  test("cannot be continued from an offset beyond its text", async () => {
    const message = newMessage();
    const { id } = await readPart(edgeAt(0), message, 3);
    const response = await send(edgeAt(1), message, `${id.split("-")[0]}-9999`);
    expect([response.status, await response.json()]).toEqual([400, { error: "invalid_last_event_id" }]);
  });

  test("is stopped by a request to this edge", async () => {
    const message = newMessage();
    const opener = await open(edgeAt(0), message);
    const response = await stop(edgeAt(1), message);
    expect([response.status, await response.json()]).toEqual([200, { status: "cancelled" }]);
    const { text, done } = await opener.end;
    expect(done).toMatchObject({ finish_reason: "cancelled" });
    expect(text.length).toBeLessThan(TEXT.length);
    expect(await read(edgeAt(1), message)).toMatchObject({ text, done });
  });

  test("is sent once it is stored if the other edge is unreachable, and a stop gets 503", async () => {
    // The edge listens on 127.0.0.1 only.
    const unreachable = await system.startEdge({ EDGE_RPC_ADDRESS: "127.0.0.2" });
    const message = newMessage();
    const opener = await open(unreachable, message);
    const [waiting, stopped] = await Promise.all([read(edgeAt(1), message), stop(edgeAt(1), message)]);
    expect(waiting).toMatchObject({ text: TEXT, done: (await opener.end).done });
    expect([stopped.status, await stopped.json()]).toEqual([503, { error: "unavailable" }]);
    await unreachable.stop();
  });

  test("ends with the outcome that the sweeper stores if the other edge is killed", async () => {
    const doomed = await system.startEdge({});
    const message = newMessage();
    const opener = await open(doomed, message);
    const openerEnd = opener.end.catch(() => "broken");
    const remote = await follow(edgeAt(1), message);
    await doomed.kill9();
    expect(await openerEnd).toBe("broken");
    // The text so far is not stored, so the edge resets the connection, and the reader must begin again.
    expect(await remote.end).toBe("reset");
    const end = await read(edgeAt(1), message);
    expect(end).toMatchObject({ text: "", error: { code: "internal_error" }, done: { finish_reason: "error" } });
    expect(await statusOf(message)).toBe("interrupted");
    await doomed.start();
    const { events } = await read(doomed, message);
    expect(events).toEqual(end.events);
  });
});

describe("the port between edges", () => {
  type Lease = { edge_id: string; address: string; token: string };
  type Running = {
    turnId: string;
    edgeId: string;
    lease: Lease;
    other: Lease;
    opener: { end: Promise<ChatResult> };
  };

  /** Returns the newest lease of an edge, or of another edge. */
  const findLease = (edgeId: string, isOther: boolean) =>
    queryFirstRow<Lease>(
      system.database,
      `SELECT edge_id, address, token FROM conversation.edges
       WHERE (edge_id = $1) <> $2 AND expires_at > now() ORDER BY expires_at DESC LIMIT 1`,
      [edgeId, isOther],
    );

  async function startReply(): Promise<Running> {
    const message = newMessage();
    const opener = await open(edgeAt(0), message);
    const { turnId, edgeId } = await queryFirstRow<{ turnId: string; edgeId: string }>(
      system.database,
      'SELECT turn_id AS "turnId", edge_id AS "edgeId" FROM conversation.turns WHERE session_id = $1',
      [message.fields.session_id],
    );
    const [lease, other] = [await findLease(edgeId, false), await findLease(edgeId, true)];
    return { turnId, edgeId, lease, other, opener };
  }

  /** Calls both methods. Returns the codes of their errors. */
  async function codesOf(address: string, authorization: string, fields: object): Promise<string[]> {
    const channel = openChannel({ target: address, retryable: [] });
    const client = createClient(
      EdgeService,
      new GrpcTransport(channel, (metadata) => authorization && metadata.set("authorization", authorization)),
    );
    const options = { timeoutMs: 10_000 };
    const readFirst = async () => client.attachTurn(fields, options)[Symbol.asyncIterator]().next();
    try {
      const results = await Promise.allSettled([readFirst(), client.cancelTurn(fields, options)]);
      return results.map((each) => (each.status === "rejected" ? (each.reason as RpcError).code : "answered"));
    } finally {
      channel.close();
    }
  }

  test("accepts only the token of its own process", async () => {
    const { turnId, edgeId, lease, other, opener } = await startReply();
    const { workspaceId } = tenant;
    const { token } = lease;
    const tokens = [token.slice(0, -1), `${token}x`, token.toUpperCase(), "", "undefined", other.token];
    const authorizations = [
      "",
      token,
      ...[...tokens, INTERNAL_TOKEN, ADMIN_TOKEN].map((each) => `Bearer ${each}`),
      `Basic ${token}`,
      `Bearer ${token} ${token}`,
    ];
    for (const authorization of authorizations)
      expect(
        await codesOf(lease.address, authorization, { edgeId, workspaceId, turnId, offset: 0 }),
        authorization,
      ).toEqual(["unauthenticated", "unauthenticated"]);
    expect(await opener.end).toMatchObject({ text: TEXT, done: { finish_reason: "stop" } });
  });

  test("finds a turn only for its workspace, its edge and its id", async () => {
    const { turnId, edgeId, lease, other, opener } = await startReply();
    const stranger = await createTenant(system.admin, { plan: "scale" });
    const own = { edgeId, workspaceId: tenant.workspaceId, turnId, offset: 0 };
    const authorization = `Bearer ${lease.token}`;
    for (const changes of [
      { workspaceId: stranger.workspaceId },
      { workspaceId: "" },
      { workspaceId: `${tenant.workspaceId} ` },
      { turnId: randomUUID() },
      { turnId: "__proto__" },
      { turnId: "" },
    ])
      expect(await codesOf(lease.address, authorization, { ...own, ...changes }), JSON.stringify(changes)).toEqual([
        "turn_not_found",
        "turn_not_found",
      ]);
    for (const wrong of [other.edge_id, "", randomUUID()])
      expect(await codesOf(lease.address, authorization, { ...own, edgeId: wrong })).toEqual([
        "other_edge",
        "other_edge",
      ]);
    expect(await opener.end).toMatchObject({ text: TEXT, done: { finish_reason: "stop" } });
  });
});

describe("a reply without readers", () => {
  test("completes and is counted", async () => {
    const message = newMessage();
    await readPart(edgeAt(0), message, 3);
    await expect.poll(() => statusOf(message), { timeout: WAIT_MS }).toBe("done");
    expect((await read(edgeAt(1), message)).text).toBe(TEXT);
  });

  test("is cancelled after DETACHED_REPLY_MS, and continues if a reader comes back before that", async () => {
    const edge = await system.startEdge({ DETACHED_REPLY_MS: "2000" });
    system.provider.script(() => SLOW_REPLY);
    const left = newMessage();
    await readPart(edge, left, 3);
    const kept = newMessage();
    const { id } = await readPart(edge, kept, 3);
    // Waits until the edge has detected that the reader has left.
    await sleep(700);
    expect((await read(edge, kept, id)).done).toMatchObject({ finish_reason: "stop" });
    await expect.poll(() => statusOf(left), { timeout: WAIT_MS }).toBe("cancelled");
    for (const result of ["cancelled", "resumed"])
      await expect
        .poll(() => readMetric(edge, "parley_turns_detached_total", { result }), { timeout: WAIT_MS })
        .toBe(1);
    await edge.stop();
  });

  test("completes during the drain of its edge, which disconnects the readers of other edges' replies", async () => {
    const edge = await system.startEdge({});
    const message = newMessage();
    await readPart(edge, message, 3);
    const elsewhere = newMessage();
    const opener = await open(edgeAt(0), elsewhere);
    const remote = await follow(edge, elsewhere);
    await edge.stop();
    expect(await remote.end).toBe("reset");
    expect(await statusOf(message)).toBe("done");
    expect((await opener.end).text).toBe(TEXT);
  });

  test("ends as an error when its edge's drain is over", async () => {
    const edge = await system.startEdge({ DRAIN_MS: "300" });
    const message = newMessage();
    await readPart(edge, message, 3);
    await edge.stop();
    const end = await read(edgeAt(0), message);
    expect(end.done).toMatchObject({ finish_reason: "error" });
    expect(await statusOf(message)).toBe("error");
  });
});

test("erasing a session ends its running reply and cancels the provider", async () => {
  const message = newMessage();
  // The edge learns that the turn was closed when it renews its lease, once a second.
  system.provider.script(() => SLOW_REPLY);
  const opener = await open(edgeAt(0), message);
  const { session_id: sessionId } = message.fields;
  await system.admin.sessions.eraseSession({ workspaceId: tenant.workspaceId, sessionId });
  const { text, done } = await opener.end;
  expect(done).toMatchObject({ finish_reason: "cancelled" });
  expect(text.length).toBeLessThan(TEXT.length);
  expect((await send(edgeAt(1), message)).status).toBe(404);
});

test("a reader whose reply cannot be stored for 10 s is reset, and gets the stored end later", async () => {
  const message = newMessage();
  const startedAt = performance.now();
  const opener = await open(edgeAt(0), message);
  const openerEnd = opener.end.then(
    () => "whole",
    () => "reset",
  );
  await system.conversation.kill9();
  expect(await openerEnd).toBe("reset");
  // The reply takes 3 s, and the reader waits for 10 s.
  expect(performance.now() - startedAt).toBeGreaterThan(11_000);
  await system.conversation.start();
  await expect.poll(() => statusOf(message), { timeout: 20_000 }).not.toBe("streaming");
  // An edge returns 503 until it is connected to conversation again, which takes up to 1.2 s.
  const readWhenConnected = (edge: ServiceProcess) => vi.waitFor(() => read(edge, message), { timeout: WAIT_MS });
  const [one, two] = await Promise.all([readWhenConnected(edgeAt(0)), readWhenConnected(edgeAt(1))]);
  expect(one.events).toEqual(two.events);
  expect(one.done).toMatchObject({ finish_reason: expect.stringMatching(/^(stop|error)$/) });
});

test("a turn that the database shows as streaming at an edge that does not run it is closed as an error", async () => {
  const message = newMessage();
  await read(edgeAt(0), message);
  // The reply is counted before its outbox row is deleted below.
  await expect
    .poll(() => readBalance(system.database), { timeout: WAIT_MS })
    .toMatchObject({ held: 0, outbox: 0, unbalanced: 0 });
  await queryFirstRow(
    system.database,
    `WITH turn AS (
       UPDATE conversation.turns SET status = 'streaming', closed_at = NULL, month = NULL WHERE session_id = $1 RETURNING turn_id
     )
     DELETE FROM conversation.outbox o USING turn WHERE o.turn_id = turn.turn_id`,
    [message.fields.session_id],
  );
  const [there, here] = [await read(edgeAt(1), message), await read(edgeAt(0), message)];
  expect(there).toMatchObject({ error: { code: "internal_error" }, done: { finish_reason: "error" } });
  expect(here.events).toEqual(there.events);
  // The first close counted the reply. The audit would report the difference, so the row gets its outcome back.
  await queryFirstRow(
    system.database,
    "UPDATE conversation.turns SET status = 'done', month = date_trunc('month', now()) WHERE session_id = $1",
    [message.fields.session_id],
  );
});

generatedClientSuite(() => ({ system, tenant, text: TEXT }));

test("no hold is left after the other tests, and all usage balances", async () => {
  await expect
    .poll(() => readBalance(system.database), { timeout: 20_000, interval: 500 })
    .toMatchObject({ held: 0, streaming: 0, outbox: 0, unbalanced: 0 });
});
