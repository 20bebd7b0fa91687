import { randomUUID } from "node:crypto";
import { createClient, GrpcTransport, openChannel, type RpcError } from "@parley/rpc";
import { EdgeService } from "@parley/rpc/edge";
import { readSse, type SseEvent } from "@parley/test-support";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type ChatResult, postChat } from "../system/chat.ts";
import { cliEnv, runCliInProcess, runCliJson } from "../system/cli.ts";
import { databaseOf, queryFirstRow, readBalance } from "../system/database.ts";
import { readMetric } from "../system/metrics.ts";
import { ADMIN_TOKEN, INTERNAL_TOKEN, type ServiceProcess } from "../system/processes.ts";
import { createTenant, type System, type Tenant } from "../system/system.ts";
import { createReplyClient, MODEL, SLOW_REPLY, startTwoEdges, TEXT, urlOf, WAIT_MS } from "./replies.ts";
import { generatedClientSuite } from "./suites/generated-client.ts";

let system: System;
let tenant: Tenant;
beforeAll(async () => {
  ({ system, tenant } = await startTwoEdges());
});
afterAll(() => system?.stop());
beforeEach(() => system.provider.reset());

const { edgeAt, newMessage, open, read, readCharacters, send, statusOf, stop } = createReplyClient(() => ({
  system,
  tenant,
}));

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
  test("can be read from its start to its end while it runs", async () => {
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
    // The events arrive over time, not all at the end.
    expect((arrivals.at(-1) ?? 0) - (arrivals[0] ?? 0)).toBeGreaterThan(1_000);
    expect(system.provider.requests).toHaveLength(1);
    expect(await countAttaches(edgeAt(1), "remote")).toBe(before + 1);
  });

  test("continues after Last-Event-ID", async () => {
    const message = newMessage();
    const part = await readCharacters(edgeAt(0), message, 9);
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
    const { id } = await readCharacters(edgeAt(0), message, 3);
    const response = await send(edgeAt(1), message, `${id.split("-")[0]}-9999`);
    expect([response.status, await response.json()]).toEqual([400, { error: "invalid_last_event_id" }]);
  });

  test("is stopped by a request to an edge that does not run it", async () => {
    const message = newMessage();
    const opener = await open(edgeAt(0), message);
    const response = await stop(edgeAt(1), message);
    expect([response.status, await response.json()]).toEqual([200, { status: "cancelled" }]);
    const { text, done } = await opener.end;
    expect(done).toMatchObject({ finish_reason: "cancelled" });
    expect(text.length).toBeLessThan(TEXT.length);
    expect(await read(edgeAt(1), message)).toMatchObject({ text, done });
  });
});

describe("the port between edges", () => {
  type Lease = { edge_id: string; address: string; token: string };
  type RunningReply = {
    turnId: string;
    edgeId: string;
    lease: Lease;
    otherLease: Lease;
    opener: { end: Promise<ChatResult> };
  };

  /** Returns the newest lease of the edge, or of any other edge if `isOther` is true. */
  const findLease = (edgeId: string, isOther: boolean) =>
    queryFirstRow<Lease>(
      databaseOf(system, tenant.workspaceId),
      `SELECT edge_id, address, token FROM conversation.edges
       WHERE (edge_id = $1) <> $2 AND expires_at > now() ORDER BY expires_at DESC LIMIT 1`,
      [edgeId, isOther],
    );

  async function startReply(): Promise<RunningReply> {
    const message = newMessage();
    const opener = await open(edgeAt(0), message);
    const { turnId, edgeId } = await queryFirstRow<{ turnId: string; edgeId: string }>(
      databaseOf(system, tenant.workspaceId),
      'SELECT turn_id AS "turnId", edge_id AS "edgeId" FROM conversation.turns WHERE session_id = $1',
      [message.fields.session_id],
    );
    const [lease, otherLease] = [await findLease(edgeId, false), await findLease(edgeId, true)];
    return { turnId, edgeId, lease, otherLease, opener };
  }

  /** Calls AttachTurn and CancelTurn. Returns the error code of each call, or "answered" if it succeeded. */
  async function attachAndCancel(address: string, authorization: string, fields: object): Promise<string[]> {
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

  test("accepts calls that send the token of its edge and the ids of a running turn", async () => {
    const { turnId, edgeId, lease, opener } = await startReply();
    const fields = { edgeId, workspaceId: tenant.workspaceId, turnId, offset: 0 };
    expect(await attachAndCancel(lease.address, `Bearer ${lease.token}`, fields)).toEqual(["answered", "answered"]);
    expect((await opener.end).done).toMatchObject({ finish_reason: "cancelled" });
  });

  test("accepts only the token of its edge", async () => {
    const { turnId, edgeId, lease, otherLease, opener } = await startReply();
    const { workspaceId } = tenant;
    const { token } = lease;
    const tokens = [token.slice(0, -1), `${token}x`, token.toUpperCase(), "", "undefined", otherLease.token];
    const authorizations = [
      "",
      token,
      ...[...tokens, INTERNAL_TOKEN, ADMIN_TOKEN].map((each) => `Bearer ${each}`),
      `Basic ${token}`,
      `Bearer ${token} ${token}`,
    ];
    for (const authorization of authorizations)
      expect(
        await attachAndCancel(lease.address, authorization, { edgeId, workspaceId, turnId, offset: 0 }),
        authorization,
      ).toEqual(["unauthenticated", "unauthenticated"]);
    expect(await opener.end).toMatchObject({ text: TEXT, done: { finish_reason: "stop" } });
  });

  test("finds a turn only with the turn's workspace, edge and id", async () => {
    const { turnId, edgeId, lease, otherLease, opener } = await startReply();
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
      expect(
        await attachAndCancel(lease.address, authorization, { ...own, ...changes }),
        JSON.stringify(changes),
      ).toEqual(["turn_not_found", "turn_not_found"]);
    for (const wrong of [otherLease.edge_id, "", randomUUID()])
      expect(await attachAndCancel(lease.address, authorization, { ...own, edgeId: wrong })).toEqual([
        "other_edge",
        "other_edge",
      ]);
    expect(await opener.end).toMatchObject({ text: TEXT, done: { finish_reason: "stop" } });
  });
});

describe("a reply without readers", () => {
  test("completes and can be read later", async () => {
    const message = newMessage();
    await readCharacters(edgeAt(0), message, 3);
    await expect.poll(() => statusOf(message), { timeout: WAIT_MS }).toBe("done");
    expect((await read(edgeAt(1), message)).text).toBe(TEXT);
  });
});

test("erasing a session ends its running reply as cancelled", async () => {
  const message = newMessage();
  // The reply must be slow, because the edge learns of the closed turn only when it renews its lease, once a second.
  system.provider.script(() => SLOW_REPLY);
  const opener = await open(edgeAt(0), message);
  const { session_id: sessionId } = message.fields;
  await system.admin.sessions.eraseSession({ workspaceId: tenant.workspaceId, sessionId });
  const { text, done } = await opener.end;
  expect(done).toMatchObject({ finish_reason: "cancelled" });
  expect(text.length).toBeLessThan(TEXT.length);
  await expect.poll(() => system.provider.requests.at(-1)?.closedByClientAt).toBeDefined();
  expect((await send(edgeAt(1), message)).status).toBe(404);
});

test("a streaming turn is closed as an error if its edge does not run it", async () => {
  const message = newMessage();
  await read(edgeAt(0), message);
  // Waits until the reply is counted, because the statement below deletes its outbox row.
  await expect
    .poll(() => readBalance(databaseOf(system, tenant.workspaceId)), { timeout: WAIT_MS })
    .toMatchObject({ held: 0, outbox: 0, unbalanced: 0 });
  await queryFirstRow(
    databaseOf(system, tenant.workspaceId),
    `WITH turn AS (
       UPDATE conversation.turns SET status = 'streaming', closed_at = NULL, month = NULL WHERE session_id = $1 RETURNING turn_id
     )
     DELETE FROM conversation.outbox o USING turn WHERE o.turn_id = turn.turn_id`,
    [message.fields.session_id],
  );
  const [fromOtherEdge, fromItsEdge] = [await read(edgeAt(1), message), await read(edgeAt(0), message)];
  expect(fromOtherEdge).toMatchObject({ error: { code: "internal_error" }, done: { finish_reason: "error" } });
  expect(fromItsEdge.events).toEqual(fromOtherEdge.events);
  // Restores the status: the reply was counted, so otherwise the usage would not balance.
  await queryFirstRow(
    databaseOf(system, tenant.workspaceId),
    "UPDATE conversation.turns SET status = 'done', month = date_trunc('month', now()) WHERE session_id = $1",
    [message.fields.session_id],
  );
});

generatedClientSuite(() => ({ system, tenant, replyText: TEXT }));

test("no hold is left after the other tests, and usage matches the turns", async () => {
  await expect
    .poll(() => readBalance(databaseOf(system, tenant.workspaceId)), { timeout: 20_000, interval: 500 })
    .toMatchObject({ held: 0, streaming: 0, outbox: 0, unbalanced: 0 });
});
