import { setTimeout as sleep } from "node:timers/promises";
import { createLogger, type Database, type Egress, EgressPolicy, FairQueue } from "@parley/service-kit";
import { createGuardedSender } from "@parley/service-kit/egress";
import { startWebhookReceiver, type WebhookReceiver } from "@parley/test-support";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import type { Bot } from "../bots/bots.store.ts";
import { eraseSession } from "../sessions/erase-session.store.ts";
import { createTestDatabase, type TestDatabase } from "../testing/database.ts";
import { createBot, newTurn, runTurn } from "../testing/turns.ts";
import { addEndpoint, ENCRYPTION_KEY, type TestEndpoint } from "../testing/webhooks.ts";
import { listDeliveries, queueTestEvent, redeliver } from "./deliveries.store.ts";
import { createAttemptQueue, type DispatcherDeps, WebhookDispatcher } from "./dispatcher.worker.ts";
import { findEndpoint, replaceSecret, updateEndpoint } from "./endpoints.store.ts";
import { createWebhookSecret, SecretBox } from "./secret-box.ts";
import { sendWebhook } from "./send-webhook.client.ts";

const LOCAL: Egress = { policy: new EgressPolicy(["127.0.0.1/32"]) };
const TIMEOUT_MS = 4_000;
const log = createLogger("test", "silent");
const secretBox = new SecretBox(() => [ENCRYPTION_KEY]);

let db: TestDatabase;
let database: Database;
const recordIn = vi.fn();
const inc = vi.fn();
beforeAll(async () => {
  db = await createTestDatabase();
  database = db.database;
});
afterAll(() => db.drop());
// Before each test, when the dispatchers of the previous one have stopped.
beforeEach(async () => {
  vi.clearAllMocks();
  await db.admin.query(
    "TRUNCATE conversation.events, conversation.webhook_endpoints, conversation.webhook_deliveries, conversation.task_leases",
  );
});

function newDispatcher({ egress = LOCAL, ...changes }: Partial<DispatcherDeps> & { egress?: Egress } = {}) {
  const sender = createGuardedSender(egress);
  const dispatcher = new WebhookDispatcher({
    database,
    secretBox,
    send: (request) => sendWebhook({ sender, log, timeoutMs: TIMEOUT_MS }, request),
    attempts: createAttemptQueue(),
    auditLog: { recordIn },
    metrics: { deliveries: { inc } },
    log,
    ...changes,
  });
  onTestFinished(async () => {
    await dispatcher.stop();
    await sender.close();
  });
  return dispatcher;
}

async function createReceiver(): Promise<WebhookReceiver> {
  const receiver = await startWebhookReceiver();
  onTestFinished(() => receiver.close());
  return receiver;
}

type Settings = { url?: string; types?: string[]; includeContent?: boolean };

async function createEndpoint(receiver: WebhookReceiver, bot: Bot, settings: Settings = {}): Promise<TestEndpoint> {
  const endpoint = await addEndpoint(database, bot.workspaceId, { url: receiver.url, ...settings });
  receiver.secrets.push(endpoint.secret);
  return endpoint;
}

const completed = { types: ["message.completed"] };
const readDeliveries = async (endpoint: TestEndpoint) =>
  (await listDeliveries(database, endpoint, { status: "", before: undefined, limit: 500 })).toReversed();
/** Lets the attempts begin that wait for their time. */
const skipWaits = () =>
  db.admin.query("UPDATE conversation.webhook_deliveries SET next_attempt_at = now() WHERE status = 'pending'");

async function runTurns(bot: Bot, count: number): Promise<void> {
  for (let n = 0; n < count; n++) await runTurn(database, newTurn(bot));
}

test("an event reaches each endpoint that wants it, signed, with the endpoint's own sequence", async () => {
  const [bot, receiver, other] = [await createBot(database), await createReceiver(), await createReceiver()];
  const endpoint = await createEndpoint(receiver, bot);
  await createEndpoint(other, bot, completed);
  await runTurns(bot, 2);
  const dispatcher = newDispatcher();
  await dispatcher.run();
  await expect.poll(() => [receiver.received.length, other.received.length]).toEqual([4, 2]);
  expect(receiver.refused).toEqual([]);
  const sequences = (each: WebhookReceiver) => each.received.map(({ body }) => body.sequence).sort((a, b) => a - b);
  expect([sequences(receiver), sequences(other)]).toEqual([
    [1, 2, 3, 4],
    [1, 2],
  ]);
  const [{ id, body, headers } = expect.fail()] = other.received;
  expect(body).toEqual({
    type: "message.completed",
    id,
    timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    workspace_id: bot.workspaceId,
    sequence: expect.any(Number),
    data: expect.objectContaining({ bot_slug: bot.slug, tokens_in: 12 }),
  });
  expect(headers).toMatchObject({ "content-type": "application/json", "user-agent": "Parley" });
  await expect
    .poll(() => readDeliveries(endpoint))
    .toMatchObject(
      [1, 2, 3, 4].map((sequence) => ({
        sequence,
        status: "delivered",
        responseStatus: 204,
        attemptedAt: [expect.any(Date)],
      })),
    );
  expect((await db.admin.query("SELECT FROM conversation.events")).rowCount).toBe(0);
  await expect.poll(() => inc.mock.calls.filter(([{ result }]) => result === "delivered")).toHaveLength(6);
});

test("a receiver that fails a third of the time gets every event, with the same webhook-id each time", async () => {
  const [bot, receiver] = [await createBot(database), await createReceiver()];
  const endpoint = await createEndpoint(receiver, bot, completed);
  const accepted: string[] = [];
  let requests = 0;
  receiver.respond = (response, { id }) => {
    if (requests++ % 3 === 0) return void response.writeHead(500).end("try later");
    accepted.push(id);
    response.writeHead(200).end();
  };
  await runTurns(bot, 40);
  const dispatcher = newDispatcher();
  await expect
    .poll(
      async () => {
        await skipWaits();
        await dispatcher.run();
        return (await readDeliveries(endpoint)).filter(({ status }) => status === "delivered").length;
      },
      { timeout: 20_000, interval: 100 },
    )
    .toBe(40);
  const sent = (await readDeliveries(endpoint)).map(({ eventId }) => eventId);
  expect(new Set(accepted)).toEqual(new Set(sent));
  expect(receiver.refused).toEqual([]);
  expect(receiver.received.length).toBeGreaterThan(50);
});

test("a failed attempt is stored with its response, and repeated about 10 s later", async () => {
  const [bot, receiver] = [await createBot(database), await createReceiver()];
  const endpoint = await createEndpoint(receiver, bot, completed);
  receiver.respond = (response) => response.writeHead(500).end("x".repeat(5_000));
  await runTurns(bot, 1);
  await newDispatcher().run();
  await expect
    .poll(() => readDeliveries(endpoint))
    .toMatchObject([
      { status: "pending", responseStatus: 500, responseBody: "x".repeat(1_024), attemptedAt: [expect.any(Date)] },
    ]);
  const [delivery] = await readDeliveries(endpoint);
  const waitMs = Number(delivery?.nextAttemptAt) - Number(delivery?.attemptedAt[0]);
  expect(waitMs).toBeGreaterThan(7_000);
  expect(waitMs).toBeLessThan(14_000);
  expect((await findEndpoint(database, endpoint))?.failingSince).toBeInstanceOf(Date);
});

test("a delivery fails for good after 12 attempts", async () => {
  const [bot, receiver] = [await createBot(database), await createReceiver()];
  const endpoint = await createEndpoint(receiver, bot, completed);
  receiver.respond = (response) => response.writeHead(500).end();
  await runTurns(bot, 1);
  const dispatcher = newDispatcher();
  await expect
    .poll(
      async () => {
        await skipWaits();
        await dispatcher.run();
        return (await readDeliveries(endpoint))[0]?.status;
      },
      { timeout: 20_000, interval: 50 },
    )
    .toBe("failed");
  expect(receiver.received).toHaveLength(12);
  expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(1);
  receiver.respond = (response) => response.writeHead(200).end();
  expect(await redeliver(database, endpoint, { from: 1, to: 1 })).toBe(1);
  await dispatcher.run();
  await expect.poll(async () => (await readDeliveries(endpoint))[0]?.status).toBe("delivered");
  expect(receiver.received[12]).toMatchObject({ id: receiver.received[0]?.id, body: { sequence: 1 } });
});

test.each([
  [429, "5", 5],
  [429, undefined, 10],
  [503, "20", 20],
])(
  "after the status %i with Retry-After %s, the endpoint gets nothing for %i s",
  async (status, retryAfter, seconds) => {
    const [bot, receiver] = [await createBot(database), await createReceiver()];
    const endpoint = await createEndpoint(receiver, bot, completed);
    receiver.respond = (response) =>
      response.writeHead(status, retryAfter === undefined ? {} : { "retry-after": retryAfter }).end();
    await runTurns(bot, 1);
    const dispatcher = newDispatcher();
    await dispatcher.run();
    await expect.poll(async () => (await readDeliveries(endpoint))[0]?.attemptedAt.length).toBe(1);
    await runTurns(bot, 3);
    await skipWaits();
    await dispatcher.run();
    await sleep(300);
    expect(receiver.received).toHaveLength(1);
    const { rows } = await db.admin.query<{ seconds: number }>(
      "SELECT extract(epoch FROM paused_until - now())::float8 AS seconds FROM conversation.webhook_endpoints",
    );
    expect(rows[0]?.seconds).toBeGreaterThan(seconds - 3);
    expect(rows[0]?.seconds).toBeLessThanOrEqual(seconds);
  },
);

test("the status 410 disables the endpoint, with a line in the audit log; enabling it sends what waited", async () => {
  const [bot, receiver] = [await createBot(database), await createReceiver()];
  const endpoint = await createEndpoint(receiver, bot, completed);
  receiver.respond = (response) => response.writeHead(410).end();
  await runTurns(bot, 1);
  const dispatcher = newDispatcher();
  await dispatcher.run();
  await expect.poll(async () => (await findEndpoint(database, endpoint))?.disabledReason).toBe("gone");
  expect(recordIn.mock.calls.map(([, entry]) => entry)).toMatchObject([
    {
      workspaceId: bot.workspaceId,
      method: "Webhooks/DisableEndpoint",
      target: { id: endpoint.endpointId, reason: "gone" },
    },
  ]);
  // While the endpoint is disabled, nothing is recorded, not even a test.
  await runTurns(bot, 1);
  expect(await queueTestEvent(database, endpoint)).toBeUndefined();
  await redeliver(database, endpoint, { from: 1, to: 1 });
  await dispatcher.run();
  await sleep(200);
  expect(receiver.received).toHaveLength(1);
  receiver.respond = (response) => response.writeHead(200).end();
  const enabled = { url: undefined, types: undefined, includeContent: undefined, enabled: true };
  await updateEndpoint(database, endpoint, enabled);
  await dispatcher.run();
  await expect.poll(() => receiver.received.length).toBe(2);
});

test("an endpoint that has failed for 72 hours is disabled by its next failure", async () => {
  const [bot, receiver] = [await createBot(database), await createReceiver()];
  const endpoint = await createEndpoint(receiver, bot, completed);
  receiver.respond = (response) => response.writeHead(500).end();
  const failFor = (hours: number) =>
    db.admin.query("UPDATE conversation.webhook_endpoints SET failing_since = now() - make_interval(hours => $1)", [
      hours,
    ]);
  const dispatcher = newDispatcher();
  for (const [hours, reason] of [
    [71, null],
    [73, "failing"],
  ] as const) {
    await failFor(hours);
    await runTurns(bot, 1);
    const before = receiver.received.length;
    await dispatcher.run();
    await expect.poll(() => receiver.received.length).toBeGreaterThan(before);
    await expect.poll(async () => (await findEndpoint(database, endpoint))?.disabledReason).toBe(reason);
  }
  expect(recordIn).toHaveBeenCalledOnce();
});

test("a redirect is a failure, and is not followed", async () => {
  const [bot, receiver, target] = [await createBot(database), await createReceiver(), await createReceiver()];
  const endpoint = await createEndpoint(receiver, bot, completed);
  receiver.respond = (response) => response.writeHead(307, { location: target.url }).end();
  await runTurns(bot, 1);
  await newDispatcher().run();
  await expect
    .poll(() => readDeliveries(endpoint))
    .toMatchObject([{ status: "pending", responseStatus: 307, error: "too_many_redirects" }]);
  expect(target.received).toEqual([]);
});

test("nothing is sent to a private address, whether the URL or DNS names it", async () => {
  const [bot, receiver] = [await createBot(database), await createReceiver()];
  const endpoint = await createEndpoint(receiver, bot, completed);
  const named = await createEndpoint(receiver, bot, {
    ...completed,
    url: receiver.url.replace("127.0.0.1", "localhost"),
  });
  await runTurns(bot, 1);
  await newDispatcher({ egress: { policy: new EgressPolicy() } }).run();
  for (const each of [endpoint, named])
    await expect
      .poll(() => readDeliveries(each))
      .toMatchObject([{ status: "pending", responseStatus: null, error: "unreachable" }]);
  expect([...receiver.received, ...receiver.refused]).toEqual([]);
});

test("a receiver that does not answer delays no other endpoint, and has at most four requests at once", async () => {
  const [bot, slow, fast] = [await createBot(database), await createReceiver(), await createReceiver()];
  const slowEndpoint = await createEndpoint(slow, bot, completed);
  await createEndpoint(fast, bot, completed);
  slow.respond = () => undefined;
  await runTurns(bot, 20);
  const dispatcher = newDispatcher();
  await dispatcher.run();
  await expect.poll(() => fast.received.length, { timeout: 3_500, interval: 10 }).toBe(20);
  expect(slow.received).toHaveLength(4);
  await expect
    .poll(async () => (await readDeliveries(slowEndpoint)).filter(({ error }) => error !== null)[0], {
      timeout: 10_000,
    })
    .toMatchObject({ status: "pending", responseStatus: null, error: "timeout" });
});

test("the slow receivers of one workspace do not take all places of the replica", async () => {
  const [slowBot, bot] = [await createBot(database), await createBot(database)];
  const [slow, fast] = [await createReceiver(), await createReceiver()];
  slow.respond = () => undefined;
  for (let count = 0; count < 5; count++) await createEndpoint(slow, slowBot, completed);
  await createEndpoint(fast, bot, completed);
  await runTurns(slowBot, 5);
  const dispatcher = newDispatcher({ attempts: new FairQueue({ maxActive: 8, maxActivePerFreePlace: 1 }) });
  await dispatcher.run();
  await expect.poll(() => slow.received.length).toBe(4);
  await runTurns(bot, 1);
  await dispatcher.run();
  await expect.poll(() => fast.received.length, { timeout: 3_500, interval: 10 }).toBe(1);
});

test("the texts are in an event only if the endpoint wants them and they are not erased", async () => {
  const [bot, plain, full] = [await createBot(database), await createReceiver(), await createReceiver()];
  await createEndpoint(plain, bot, completed);
  await createEndpoint(full, bot, { types: ["conversation.started", "message.completed"], includeContent: true });
  await runTurn(database, newTurn(bot, { message: "A question" }), { content: "A reply" });
  const dispatcher = newDispatcher();
  await dispatcher.run();
  await expect.poll(() => [plain.received.length, full.received.length]).toEqual([1, 2]);
  expect(JSON.stringify(plain.received[0]?.body)).not.toMatch(/question|reply/i);
  const dataOf = (type: string) => full.received.find(({ body }) => body.type === type)?.body.data;
  expect(dataOf("message.completed")).toMatchObject({ message: "A question", reply: "A reply" });
  expect(dataOf("conversation.started")).toMatchObject({ message: "A question" });
  const erased = newTurn(bot, { message: "A question" });
  await runTurn(database, erased);
  await eraseSession(database, bot.workspaceId, erased.sessionId);
  await dispatcher.run();
  await expect.poll(() => full.received.length).toBe(4);
  expect(full.received.at(-1)?.body.data).not.toHaveProperty("message");
});

test("an erasure clears the stored responses, and a response that arrives later is not stored", async () => {
  const [bot, receiver] = [await createBot(database), await createReceiver()];
  const endpoint = await createEndpoint(receiver, bot, completed);
  receiver.respond = (response) => response.writeHead(500).end("you sent: a secret");
  const turn = newTurn(bot);
  await runTurn(database, turn);
  const dispatcher = newDispatcher();
  await dispatcher.run();
  await expect.poll(async () => (await readDeliveries(endpoint))[0]?.responseBody).toBe("you sent: a secret");
  await eraseSession(database, bot.workspaceId, turn.sessionId);
  expect((await readDeliveries(endpoint))[0]?.responseBody).toBeNull();
  await skipWaits();
  await dispatcher.run();
  await expect.poll(async () => (await readDeliveries(endpoint))[0]?.attemptedAt.length).toBe(2);
  expect((await readDeliveries(endpoint))[0]).toMatchObject({ responseStatus: 500, responseBody: null });
});

test("during a rotation, a receiver with either secret accepts an event; afterwards only the new one signs", async () => {
  const [bot, receiver] = [await createBot(database), await createReceiver()];
  const endpoint = await createEndpoint(receiver, bot, completed);
  const secret = createWebhookSecret();
  await replaceSecret(database, endpoint, secretBox.encrypt(secret, endpoint), 24);
  const dispatcher = newDispatcher();
  for (const secrets of [[endpoint.secret], [secret]]) {
    receiver.secrets = secrets;
    const before = receiver.received.length;
    await runTurns(bot, 1);
    await dispatcher.run();
    await expect.poll(() => receiver.received.length).toBe(before + 1);
  }
  await db.admin.query("UPDATE conversation.webhook_endpoints SET previous_expires_at = now()");
  receiver.secrets = [endpoint.secret];
  await runTurns(bot, 1);
  await dispatcher.run();
  await expect.poll(() => receiver.refused.length).toBe(1);
});

test("an endpoint keeps at most its limit of undelivered events, and drops the oldest ones", async () => {
  const [bot, receiver] = [await createBot(database), await createReceiver()];
  const endpoint = await createEndpoint(receiver, bot, completed);
  const dispatcher = newDispatcher({
    maxPending: 10,
    send: () => new Promise(() => undefined),
    secretBox: new SecretBox(() => []),
  });
  await runTurns(bot, 8);
  await dispatcher.run();
  await runTurns(bot, 7);
  await dispatcher.run();
  expect((await readDeliveries(endpoint)).map(({ sequence }) => sequence)).toEqual([
    6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
  ]);
  expect(await findEndpoint(database, endpoint)).toMatchObject({ dropped: 5, pending: 10, lastSequence: 15 });
  expect(inc).toHaveBeenCalledWith({ result: "dropped" }, 5);
  await runTurns(bot, 1);
  await dispatcher.run();
  expect((await readDeliveries(endpoint)).map(({ sequence }) => sequence)).toEqual([
    7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
  ]);
});

test("one of two replicas works, and the other takes over when it stops", async () => {
  const [bot, receiver] = [await createBot(database), await createReceiver()];
  await createEndpoint(receiver, bot, completed);
  const [first, second] = [newDispatcher(), newDispatcher()];
  await first.run();
  await runTurns(bot, 1);
  await second.run();
  await sleep(200);
  expect(receiver.received).toEqual([]);
  await first.run();
  await expect.poll(() => receiver.received.length).toBe(1);
  await first.stop();
  await runTurns(bot, 1);
  await expect
    .poll(
      async () => {
        await second.run();
        return receiver.received.length;
      },
      { timeout: 6_000, interval: 200 },
    )
    .toBe(2);
});
