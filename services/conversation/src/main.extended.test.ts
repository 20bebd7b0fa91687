import { fileURLToPath } from "node:url";
import { TurnOutcome } from "@parley/rpc/conversation";
import { SettleOutcome } from "@parley/rpc/quota";
import { createDatabase, isFullRun, nodeFlags, startProcess } from "@parley/test-support";
import { afterEach, beforeEach, expect, test } from "vitest";
import { countLockWaits, createTestDatabase, ROLE_PASSWORD, type TestDatabase } from "./testing/database.ts";
import { startTestQuota, type TestQuota } from "./testing/quota.ts";
import { type ServiceProcess, startServiceProcess } from "./testing/service.ts";
import { createBot, newOpenRequest, type OpenRequest } from "./testing/turns.ts";

const script = (name: string) => [...nodeFlags, fileURLToPath(new URL(name, import.meta.url))];

let db: TestDatabase;
let quota: TestQuota;
beforeEach(async () => {
  db = await createTestDatabase();
  quota = await startTestQuota();
});
afterEach(async () => {
  quota.close();
  await db.drop();
});

const startService = (env: Record<string, string> = {}) => startServiceProcess(db.url, quota.target, { env });
/** Long enough for hundreds of concurrent calls on a busy machine. */
const options = { timeoutMs: 20_000 };
const readOutboxDepth = async () => (await db.admin.query("SELECT FROM conversation.outbox")).rowCount;

test.runIf(isFullRun)(
  "migrate.ts prints a line per migration, one line if the schema is up to date, and one line if it cannot migrate",
  async () => {
    const fresh = await createDatabase();
    const run = async (url: string) => {
      const migration = await startProcess({
        name: "migrate",
        command: process.execPath,
        args: script("migrate.ts"),
        env: { DATABASE_URL: url, DATABASE_PASSWORD: ROLE_PASSWORD, DATABASE_ROLES_SHARED: "on" },
      });
      const { code } = await migration.exited;
      return { code, stdout: migration.stdout(), stderr: migration.stderr() };
    };
    const first = await run(fresh.url);
    expect(first).toMatchObject({ code: 0, stderr: "" });
    expect(first.stdout).toContain("conversation: applied 0001_baseline\n");
    expect(await run(fresh.url)).toEqual({ code: 0, stdout: "conversation: up to date\n", stderr: "" });
    const unreachable = await run("postgres://nobody@127.0.0.1:1/none");
    expect(unreachable.code).toBe(78);
    expect(unreachable.stderr).toMatch(/^conversation: cannot migrate: .+\n$/);
    await fresh.drop();
  },
);

test("the service serves calls, exits with code 0 on SIGTERM, and settles its closed turns before it exits", async () => {
  const service = await startService();
  const bot = await createBot(db.database);
  const turn = newOpenRequest(bot);
  await service.conversation.openTurn(turn, options);
  const { workspaceId, turnId } = turn;
  await service.conversation.closeTurn({ workspaceId, turnId, outcome: TurnOutcome.DONE, month: "2026-11" }, options);
  expect(await service.process.stop()).toEqual({ code: 0, signal: null });
  service.close();
  expect(quota.countDone(bot.workspaceId)).toBe(1);
  expect(await readOutboxDepth()).toBe(0);
  // The visitor's message is not logged.
  expect(service.process.output()).not.toContain("Hello?");
});

test("the service stops accepting calls within 3 s of SIGTERM, even if its tasks wait for a lock", async () => {
  const locker = await db.admin.connect();
  await locker.query("BEGIN; LOCK TABLE conversation.task_leases IN ACCESS EXCLUSIVE MODE");
  // In the default pool, only four of the tasks could wait at the same time.
  const service = await startService({ DATABASE_POOL: "20" });
  // The settler waits to claim the outbox lease, and seven tasks wait to claim theirs: usage audit, reconciliation, call log, closing months, pruning
  // turns, and counting replies by workspace and by bot.
  await expect.poll(() => countLockWaits(db.admin)).toBe(8);
  service.process.signal("SIGTERM");
  const startedAt = performance.now();
  const isRefused = () =>
    service.conversation.renewEdge({ edgeId: crypto.randomUUID() }, { timeoutMs: 1_000 }).then(
      () => false,
      () => true,
    );
  await expect.poll(isRefused, { timeout: 15_000, interval: 20 }).toBe(true);
  expect(performance.now() - startedAt).toBeLessThan(3_000);
  await locker.query("ROLLBACK");
  locker.release();
  expect(await service.process.exited).toEqual({ code: 0, signal: null });
  service.close();
});

test("the service serves calls while its background tasks wait for a lock", async () => {
  const locker = await db.admin.connect();
  await locker.query("BEGIN; LOCK TABLE conversation.task_leases IN ACCESS EXCLUSIVE MODE");
  const service = await startService();
  // Of the main pool's eight connections, periodic tasks use four, and the settler uses one.
  await expect.poll(() => countLockWaits(db.admin)).toBeGreaterThanOrEqual(5);
  const turn = newOpenRequest(await createBot(db.database));
  await service.conversation.openTurn(turn, options);
  await service.conversation.closeTurn({ ...turn, outcome: TurnOutcome.ERROR }, options);
  expect(await countLockWaits(db.admin)).toBe(5);
  await locker.query("ROLLBACK");
  locker.release();
  await service.process.stop();
  service.close();
});

test("the service loses no outcome and reports one outcome for each turn when it is killed repeatedly under load", async () => {
  const bot = await createBot(db.database);
  const turns = Array.from({ length: 300 }, () => newOpenRequest(bot));
  const run = async ({ conversation }: ServiceProcess, turn: OpenRequest) => {
    const { workspaceId, turnId } = turn;
    await conversation.openTurn(turn, options);
    const outcome = { workspaceId, turnId, outcome: TurnOutcome.DONE, month: "2026-11", content: "x" };
    return (await conversation.closeTurn(outcome, options)).outcome;
  };
  // In each round, kills the service after this number of finished turns.
  for (const [round, finished] of [5, 40, 120].entries()) {
    const service = await startService();
    let remaining = finished;
    const enoughTurnsFinished = Promise.withResolvers<void>();
    const ended = Promise.allSettled(
      turns.slice(round * 50, round * 50 + 200).map(async (turn) => {
        await run(service, turn);
        if (--remaining === 0) enoughTurnsFinished.resolve();
      }),
    );
    await enoughTurnsFinished.promise;
    await service.process.kill9();
    await ended;
    service.close();
  }
  // Run every turn again, as an edge retries calls that got no response.
  const last = await startService();
  const outcomes = await Promise.all(turns.map((turn) => run(last, turn)));
  expect(new Set(outcomes)).toEqual(new Set([TurnOutcome.DONE]));
  await expect.poll(readOutboxDepth, { timeout: 30_000, interval: 100 }).toBe(0);
  expect(quota.countDone(bot.workspaceId)).toBe(300);
  // Settle may receive a turn again after a kill, but always with the same outcome.
  const settled = new Set(quota.settleCalls.flat().map(({ outcome }) => outcome));
  expect(settled).toEqual(new Set([SettleOutcome.DONE]));
  const { rows } = await db.admin.query(
    "SELECT role, count(*) AS count FROM conversation.messages GROUP BY role ORDER BY role",
  );
  expect(rows).toEqual([
    { role: "assistant", count: 300 },
    { role: "user", count: 300 },
  ]);
  await last.process.stop();
  last.close();
}, 120_000);

test("the service exports a session of 65 MB without having all of it in memory", async () => {
  // With a small heap, V8 frees garbage early, so the process's memory follows what the service holds.
  const flags = ["--max-semi-space-size=2", "--max-old-space-size=64"];
  const service = await startServiceProcess(db.url, quota.target, { flags });
  const bot = await createBot(db.database);
  const turn = newOpenRequest(bot);
  await service.conversation.openTurn(turn, options);
  await db.admin.query(
    `INSERT INTO conversation.messages (workspace_id, session_id, message_id, turn_id, role, content, status, created_at)
     SELECT $1, $2, 1000 + n, gen_random_uuid(), 'user', repeat('x', 2000), 'done', now() FROM generate_series(1, 30000) n`,
    [turn.workspaceId, turn.sessionId],
  );
  const residentBytes = async () => {
    const metrics = await (await fetch(`${service.opsUrl}/metrics`)).text();
    return Number(/^process_resident_memory_bytes\S* (\S+)/m.exec(metrics)?.[1]);
  };
  const readAll = async () => {
    let total = 0;
    for await (const { json } of service.sessions.getTranscript(turn, { timeoutMs: 60_000 })) total += json.length;
    return total;
  };
  const before = await residentBytes();
  let peak = before;
  const watching = setInterval(() => {
    residentBytes().then(
      (bytes) => {
        peak = Math.max(peak, bytes);
      },
      () => undefined,
    );
  }, 50);
  expect(await readAll()).toBeGreaterThan(65_000_000);
  clearInterval(watching);
  expect(peak - before).toBeLessThan(48 * 1024 * 1024);
  await service.process.stop();
  service.close();
}, 60_000);
