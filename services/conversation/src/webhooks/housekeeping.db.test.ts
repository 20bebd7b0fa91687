import { randomUUID } from "node:crypto";
import { createLogger, type Database } from "@parley/service-kit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../testing/database.ts";
import { addEndpoint, ENCRYPTION_KEY, type TestEndpoint } from "../testing/webhooks.ts";
import { listDeliveries, queueTestEvent } from "./deliveries.store.ts";
import { deleteEndpoint, replaceSecret } from "./endpoints.store.ts";
import { keepWebhooks } from "./housekeeping.worker.ts";
import { SecretBox } from "./secret-box.ts";

let db: TestDatabase;
let database: Database;
beforeAll(async () => {
  db = await createTestDatabase();
  database = db.database;
});
afterAll(() => db.drop());

const keep = (keys = [ENCRYPTION_KEY]) =>
  keepWebhooks(
    { database, secretBox: new SecretBox(() => keys), log: createLogger("test", "silent") },
    new AbortController().signal,
  );

/** Queues one event for each age in days, and sets its status. */
async function addDeliveries(endpoint: TestEndpoint, status: string, ageDays: readonly number[]): Promise<void> {
  for (const days of ageDays) {
    const sequence = await queueTestEvent(database, endpoint);
    await db.admin.query(
      `UPDATE conversation.webhook_deliveries
       SET status = $3, created_at = now() - make_interval(days => $4), next_attempt_at = CASE WHEN $3 = 'pending' THEN now() END
       WHERE endpoint_id = $1 AND sequence = $2`,
      [endpoint.endpointId, sequence, status, days],
    );
  }
}

async function statusesOf(endpoint: TestEndpoint): Promise<string[]> {
  const deliveries = await listDeliveries(database, endpoint, { status: "", before: undefined, limit: 500 });
  return deliveries.map(({ sequence, status }) => `${sequence} ${status}`).toReversed();
}

test("deletes the deliveries that are older than 30 days, and keeps younger ones and those that wait", async () => {
  const endpoint = await addEndpoint(database, randomUUID());
  await addDeliveries(endpoint, "delivered", [31, 29]);
  await addDeliveries(endpoint, "failed", [31, 29]);
  await addDeliveries(endpoint, "pending", [31, 0]);
  await keep();
  expect(await statusesOf(endpoint)).toEqual(["2 delivered", "4 failed", "5 pending", "6 pending"]);
});

test("deletes all old deliveries, also if they are more than one statement deletes", async () => {
  const endpoint = await addEndpoint(database, randomUUID());
  await db.admin.query(
    `INSERT INTO conversation.webhook_deliveries (workspace_id, endpoint_id, sequence, event_id, type, occurred_at, data, status, created_at)
     SELECT $1, $2, n, gen_random_uuid(), 'test', now(), '{}', 'delivered', now() - interval '31 days' FROM generate_series(1, 2500) n`,
    [endpoint.workspaceId, endpoint.endpointId],
  );
  await keep();
  expect(await statusesOf(endpoint)).toEqual([]);
});

test("deletes the deliveries of a deleted endpoint, also those that wait, and no other endpoint's", async () => {
  const workspaceId = randomUUID();
  const [deleted, other] = [await addEndpoint(database, workspaceId), await addEndpoint(database, workspaceId)];
  for (const endpoint of [deleted, other]) await addDeliveries(endpoint, "pending", [0]);
  await deleteEndpoint(database, deleted);
  await keep();
  expect(await statusesOf(deleted)).toEqual([]);
  expect(await statusesOf(other)).toEqual(["1 pending"]);
});

test("deletes an expired previous secret, and encrypts the secrets again with the first key", async () => {
  const [expired, current] = [await addEndpoint(database, randomUUID()), await addEndpoint(database, randomUUID())];
  const box = new SecretBox(() => [ENCRYPTION_KEY]);
  for (const endpoint of [expired, current])
    await replaceSecret(database, endpoint, box.encrypt(endpoint.secret, endpoint), 24);
  await db.admin.query(
    "UPDATE conversation.webhook_endpoints SET previous_expires_at = now() - interval '1 second' WHERE endpoint_id = $1",
    [expired.endpointId],
  );
  const newKey = "another-encryption-key-of-the-tests-0123456789";
  await keep([newKey, ENCRYPTION_KEY]);
  const newBox = new SecretBox(() => [newKey]);
  for (const endpoint of [expired, current]) {
    const { rows } = await db.admin.query(
      "SELECT secret, previous_secret AS previous FROM conversation.webhook_endpoints WHERE endpoint_id = $1",
      [endpoint.endpointId],
    );
    expect(newBox.decrypt(rows[0].secret, endpoint)).toBe(endpoint.secret);
    if (endpoint === expired) expect(rows[0].previous).toBeNull();
    else expect(newBox.decrypt(rows[0].previous, endpoint)).toBe(endpoint.secret);
  }
});
