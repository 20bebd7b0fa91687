import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { isFullRun } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { chat, exportTranscript } from "./system/chat.ts";
import { cliEnv, runCliInProcess } from "./system/cli.ts";
import { queryFirstRow } from "./system/database.ts";
import { holdLocks } from "./system/hold-locks.ts";
import { readMetric } from "./system/metrics.ts";
import type { ServiceProcess } from "./system/processes.ts";
import { createTenant, type System, startSystem, type Tenant } from "./system/system.ts";

/** The connections that the conversation service has for exports and other reads by owners: a fifth of its pool of ten. */
const EXPORT_CONNECTIONS = 2;
/** Messages of MESSAGE_CHARACTERS each: together 30 MB, more than the kernel's buffers of a connection hold. */
const LARGE_MESSAGES = 300;
const MESSAGE_CHARACTERS = 100_000;

let system: System;
beforeAll(async () => {
  system = await startSystem();
});
afterAll(() => system?.stop());

async function createSession(): Promise<{ tenant: Tenant; sessionId: string }> {
  const tenant = await createTenant(system.admin);
  const sessionId = randomUUID();
  const { done } = await chat(system.url(), tenant, { session_id: sessionId });
  expect(done?.finish_reason).toBe("stop");
  return { tenant, sessionId };
}

/** Makes every read of a transcript wait. Returns a function that ends the wait. */
function lockMessages(): Promise<() => Promise<void>> {
  return holdLocks(system.database, "LOCK TABLE conversation.messages IN ACCESS EXCLUSIVE MODE");
}

async function countWaitingReads(): Promise<number> {
  const { reads } = await queryFirstRow<{ reads: number }>(
    system.database,
    `SELECT count(*)::integer AS reads FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'parley-conversation-export' AND wait_event_type = 'Lock'`,
  );
  return reads;
}

test("`parley usage-audit` succeeds while waiting exports occupy all export connections", async () => {
  const sessions = [];
  for (let index = 0; index < 3 * EXPORT_CONNECTIONS; index++) sessions.push(await createSession());
  const unlock = await lockMessages();
  // Reads each response to its end. Otherwise the exports would still run during the next test.
  const exports = Promise.allSettled(
    sessions.map(async ({ tenant, sessionId }) => (await exportTranscript(system, tenant, sessionId)).text()),
  );
  await expect.poll(countWaitingReads).toBe(EXPORT_CONNECTIONS);
  const { code } = await runCliInProcess(["usage-audit"], cliEnv(system));
  expect(code).toBe(0);
  expect(await countWaitingReads()).toBe(EXPORT_CONNECTIONS);
  await unlock();
  await exports;
});

test("several exports of a workspace share one connection, and another workspace's export uses a second connection", async () => {
  const [session, otherSession] = [await createSession(), await createSession()];
  const unlock = await lockMessages();
  const start = ({ tenant, sessionId }: typeof session) => exportTranscript(system, tenant, sessionId);
  const exports = [start(session), start(session), start(session)];
  await expect.poll(countWaitingReads).toBe(1);
  await sleep(500);
  expect(await countWaitingReads()).toBe(1);
  exports.push(start(otherSession));
  await expect.poll(countWaitingReads).toBe(2);
  await unlock();
  expect((await Promise.all(exports)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
});

test.runIf(isFullRun)(
  "an export whose client stops reading is reset after 30 s, so that it does not look complete",
  async () => {
    const { tenant, sessionId } = await createSession();
    await queryFirstRow(
      system.database,
      `INSERT INTO conversation.messages (workspace_id, session_id, message_id, turn_id, role, content, status, created_at, closed_at)
     SELECT $1, $2, n, gen_random_uuid(), 'user', repeat('x', $4::integer), 'done', now(), now()
     FROM generate_series(1, $3::integer) n`,
      [tenant.workspaceId, sessionId, LARGE_MESSAGES, MESSAGE_CHARACTERS],
    );
    const [edge] = system.edges;
    const response = await exportTranscript(system, tenant, sessionId);
    expect(response.status).toBe(200);
    const countStalled = () => readMetric(edge as ServiceProcess, "parley_streams_stalled_total");
    await expect.poll(countStalled, { timeout: 50_000, interval: 500 }).toBe(1);
    await expect(response.text()).rejects.toThrow();
  },
  90_000,
);
