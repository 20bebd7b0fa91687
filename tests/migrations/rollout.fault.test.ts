import { setTimeout as sleep } from "node:timers/promises";
import { migrate, revertMigrations } from "@parley/service-kit/migrations";
import { quickOrFull } from "@parley/test-support";
import type pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { exportTranscript } from "../system/chat.ts";
import { queryFirstRow, readBalance } from "../system/database.ts";
import { holdLocks } from "../system/hold-locks.ts";
import { createTenant, type System, startSystem, type Tenant } from "../system/system.ts";
import { countOutcomes, TRUST_FORWARDED_FOR, type VisitResult, visit } from "../system/visitors.ts";
import { listMigrations, type SchemaMigrations } from "./next-version.ts";

const SCHEMAS = ["conversation", "quota", "llm"] as const;
type Schema = (typeof SCHEMAS)[number];

const ROUNDS = quickOrFull(1, 5);
const VISITORS = 10;
/** Pause of a visitor after each reply. It leaves CPU time to the migrations and to the services that start. */
const VISITOR_PAUSE_MS = 100;
/** Maximum attempts of an installation's migration Job. Each attempt waits at most 2 s for a lock. */
const MAX_ATTEMPTS = 5;
/** SQLSTATE of a lock timeout. */
const LOCK_NOT_AVAILABLE = "55P03";

let system: System;
let tenant: Tenant;
let migrationsBySchema: Record<Schema, SchemaMigrations>;
beforeAll(async () => {
  system = await startSystem({ env: { edge: TRUST_FORWARDED_FOR } });
  await queryFirstRow(system.database, "INSERT INTO quota.plans VALUES ('endless', 1000000)");
  tenant = await createTenant(system.admin, { plan: "endless", model: "openai:tokens-5-every-20" });
  migrationsBySchema = {
    conversation: await listMigrations(system.database, "conversation"),
    quota: await listMigrations(system.database, "quota"),
    llm: await listMigrations(system.database, "llm"),
  };
});
afterAll(() => system?.stop());

function migrationTarget(schema: Schema) {
  const { currentMigrations, nextMigrations } = migrationsBySchema[schema];
  return {
    url: system.database.url,
    schema,
    role: `parley_${schema}`,
    migrations: [...currentMigrations, ...nextMigrations],
  };
}

/** Retries `work` after a lock timeout, as an installation's migration Job does. */
async function retryLockTimeouts<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || (error as pg.DatabaseError).code !== LOCK_NOT_AVAILABLE) throw error;
    }
  }
}

async function migrateToNextVersion(): Promise<void> {
  for (const schema of SCHEMAS) await retryLockTimeouts(() => migrate(migrationTarget(schema)));
}

async function rollBackNextVersion(): Promise<void> {
  for (const schema of SCHEMAS) {
    // Rolls back one migration per call, so that a retry does not repeat a successful rollback.
    for (const _ of migrationsBySchema[schema].nextMigrations)
      await retryLockTimeouts(() => revertMigrations(migrationTarget(schema), 1));
  }
}

async function countNextVersionColumns(): Promise<number> {
  const { n } = await queryFirstRow<{ n: number }>(
    system.database,
    "SELECT count(*)::integer AS n FROM information_schema.columns WHERE column_name = 'next_count'",
  );
  return n;
}

/** Results of the visits, and status codes of the exports. */
type LoadResult = { visits: VisitResult[]; exports: number[] };

/** Runs `work` while visitors chat and an owner exports transcripts. */
async function runUnderLoad(work: () => Promise<void>): Promise<LoadResult> {
  const visits: VisitResult[] = [];
  const exports: number[] = [];
  let isOver = false;
  const sendMessages = async () => {
    while (!isOver) {
      visits.push(await visit(system.url(), tenant));
      await sleep(VISITOR_PAUSE_MS);
    }
  };
  const exportTranscripts = async () => {
    while (!isOver) {
      // A user may export 30 transcripts a minute.
      await sleep(2_100);
      const { session } = await queryFirstRow<{ session: string }>(
        system.database,
        "SELECT session_id AS session FROM conversation.sessions ORDER BY started_at DESC LIMIT 1",
      );
      const response = await exportTranscript(system, tenant, session);
      await response.text();
      exports.push(response.status);
    }
  };
  const load = Promise.all([exportTranscripts(), ...Array.from({ length: VISITORS }, sendMessages)]);
  try {
    await expect.poll(() => visits.length, { timeout: 20_000 }).toBeGreaterThan(VISITORS);
    await work();
  } finally {
    isOver = true;
    await load;
  }
  return { visits, exports };
}

function expectNoErrors({ visits, exports }: LoadResult): void {
  expect(countOutcomes(visits)).toEqual({ stop: visits.length });
  expect(new Set(exports)).toEqual(new Set([200]));
}

test("a migration to the next version's schema and the rollback cause no error under load, and this version runs on the next version's schema", async () => {
  // Of each schema's nextMigrations, the last creates a table. Each of the preceding ones adds the column next_count to one table.
  const widenedTableCount =
    SCHEMAS.flatMap((schema) => migrationsBySchema[schema].nextMigrations).length - SCHEMAS.length;
  for (let round = 0; round < ROUNDS; round++) {
    expectNoErrors(
      await runUnderLoad(async () => {
        await migrateToNextVersion();
        expect(await countNextVersionColumns()).toBe(widenedTableCount);
      }),
    );
    // If an operator rolls back only the pods, this version runs on the newer schema. So it must start there.
    const services = [system.quota, system.llm, system.conversation, ...system.edges];
    for (const service of services) await service.stop();
    await Promise.all(services.map((service) => service.start()));
    expectNoErrors(await runUnderLoad(rollBackNextVersion));
    expect(await countNextVersionColumns()).toBe(0);
  }
  await expect
    .poll(() => readBalance(system.database), { timeout: 30_000 })
    .toMatchObject({ held: 0, streaming: 0, outbox: 0, unbalanced: 0 });
}, 300_000);

test("a migration gives up on a locked table after 2 s, and the traffic that waits behind the migration gets no error", async () => {
  // Applies the migrations that precede the locked table's migration, so that each measured attempt only waits for the lock.
  const { currentMigrations, nextMigrations } = migrationsBySchema.conversation;
  const earlier = nextMigrations.slice(
    0,
    nextMigrations.findIndex(({ name }) => name === "9000_messages"),
  );
  await retryLockTimeouts(() =>
    migrate({ ...migrationTarget("conversation"), migrations: [...currentMigrations, ...earlier] }),
  );
  const endRead = await holdLocks(system.database, "SELECT FROM conversation.messages LIMIT 1");
  const waitsMs: number[] = [];
  const load = await runUnderLoad(async () => {
    for (let attempt = 0; attempt < 2; attempt++) {
      const startedAt = performance.now();
      const errorCode = await migrate(migrationTarget("conversation")).catch((error: pg.DatabaseError) => error.code);
      waitsMs.push(performance.now() - startedAt);
      expect(errorCode).toBe(LOCK_NOT_AVAILABLE);
    }
    await endRead();
    await retryLockTimeouts(() => migrate(migrationTarget("conversation")));
  });
  expectNoErrors(load);
  for (const waitMs of waitsMs) {
    // The lock timeout is 2 s. A busy machine adds to it.
    expect(waitMs).toBeGreaterThan(1_900);
    expect(waitMs).toBeLessThan(8_000);
  }
}, 120_000);
