import { setTimeout as sleep } from "node:timers/promises";
import { queryRows, quickOrFull, startWebhookReceiver, type WebhookReceiver } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { chat } from "../system/chat.ts";
import { databaseOf } from "../system/database.ts";
import { createTenant, type System, startSystem, type Tenant } from "../system/system.ts";

const TENANTS = quickOrFull(3, 20);
/** Complete replies, at least. */
const TURNS_PER_TENANT = quickOrFull(12, 250);
const KILLS = quickOrFull(3, 10);

let system: System;
let receiver: WebhookReceiver;
beforeAll(async () => {
  system = await startSystem({ env: { conversation: { EGRESS_ALLOW: "127.0.0.1/32" } } });
  receiver = await startWebhookReceiver();
}, 180_000);
afterAll(async () => {
  await receiver.close();
  await system.stop();
});

/** What a workspace's turns and sessions should have caused, and what is queued, by the service's tables. */
type Queue = { expected: number; ids: string[]; last: number; left: number };

const READ_QUEUE = `
  SELECT (SELECT count(*) FROM conversation.turns WHERE workspace_id = $1 AND status IN ('done', 'blocked'))::integer
           + (SELECT count(*) FROM conversation.sessions WHERE workspace_id = $1)::integer AS expected,
         (SELECT coalesce(array_agg(event_id::text), '{}') FROM conversation.webhook_deliveries WHERE workspace_id = $1) AS ids,
         (SELECT coalesce(max(sequence), 0)::integer FROM conversation.webhook_deliveries WHERE workspace_id = $1) AS last,
         (SELECT count(*) FROM conversation.turns WHERE workspace_id = $1 AND status = 'streaming')::integer
           + (SELECT count(*) FROM conversation.events WHERE workspace_id = $1)::integer
           + (SELECT count(*) FROM conversation.webhook_deliveries WHERE workspace_id = $1 AND status <> 'delivered')::integer AS left`;

/** Lets the attempts begin that wait for their time, also those of a killed process. */
const SKIP_WAITS = `
  UPDATE conversation.webhook_deliveries SET next_attempt_at = now()
  WHERE workspace_id = $1 AND status = 'pending' AND next_attempt_at > now() + interval '1 second'`;

test("a receiver that fails a third of the time gets each event once or more, while the conversation service is killed", async () => {
  const accepted = new Set<string>();
  let requests = 0;
  receiver.respond = (response, { id }) => {
    const isRefused = requests++ % 3 === 0;
    if (!isRefused) accepted.add(id);
    response.writeHead(isRefused ? 500 : 204).end();
  };
  const tenants = await Promise.all(Array.from({ length: TENANTS }, () => createTenant(system.admin)));
  for (const { workspaceId } of tenants) {
    const { secret } = await system.admin.webhooks.createEndpoint({ workspaceId, changes: { url: receiver.url } });
    receiver.secrets.push(secret);
  }
  let areKillsOver = false;
  /** Chats until the kills are over and enough replies are complete. While the service is away, each message fails at once. */
  const chatOften = async (tenant: Tenant) => {
    for (let complete = 0; complete < TURNS_PER_TENANT || !areKillsOver; ) {
      const reply = await chat(system.url(), tenant).catch(() => undefined);
      if (reply?.done?.finish_reason === "stop") complete++;
      else await sleep(200);
    }
  };
  const chats = Promise.all(tenants.map(chatOften));
  for (let kill = 0; kill < KILLS; kill++) {
    await sleep(1_000);
    await system.conversation.kill9();
    await system.conversation.start();
  }
  areKillsOver = true;
  await chats;

  const all: string[] = [];
  for (const { workspaceId } of tenants) {
    const { url } = databaseOf(system, workspaceId);
    const readQueue = async () => (await queryRows<Queue>(url, READ_QUEUE, [workspaceId]))[0];
    await expect
      .poll(
        async () => {
          await queryRows(url, SKIP_WAITS, [workspaceId]);
          return (await readQueue())?.left;
        },
        { timeout: 120_000, interval: 500 },
      )
      .toBe(0);
    const { expected, ids, last } = (await readQueue()) ?? expect.fail();
    // One event for each session and each complete reply, and no number is missing.
    expect([ids.length, last]).toEqual([expected, expected]);
    all.push(...ids);
  }
  expect(all.length).toBeGreaterThan(TENANTS * TURNS_PER_TENANT);
  // The receiver has accepted exactly these events, and refused no signature.
  expect(accepted).toEqual(new Set(all));
  expect(receiver.refused).toEqual([]);
  console.info(`${all.length} events, ${receiver.received.length} requests, ${KILLS} kills`);
}, 400_000);
