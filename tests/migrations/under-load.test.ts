import { setTimeout as sleep } from "node:timers/promises";
import { migrate, rollback } from "@parley/service-kit";
import { figure } from "@parley/test-support";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { query, readBalance } from "../system/database.ts";
import { createTenant, type System, startSystem, type Tenant } from "../system/system.ts";
import { countOutcomes, type VisitResult, TRUST_TEST_PROXY, visit } from "../system/visitors.ts";
import { type Versions, versionsOf } from "./next-version.ts";

const SCHEMAS = ["conversation", "quota", "llm"] as const;
type Schema = (typeof SCHEMAS)[number];

const ROUNDS = figure(1, 5);
const VISITORS = 10;
/** As often as an installation's job tries; each try waits at most 2 s for a lock. */
const TRIES = 5;
const LOCK_NOT_AVAILABLE = "55P03";

let system: System;
let tenant: Tenant;
let versions: Record<Schema, Versions>;
beforeAll(async () => {
  system = await startSystem({ env: { edge: TRUST_TEST_PROXY } });
  await query(system.database, "INSERT INTO quota.plans VALUES ('endless', 1000000)");
  tenant = await createTenant(system.admin, { plan: "endless", model: "openai:tokens-5-every-20" });
  versions = {
    conversation: await versionsOf(system.database, "conversation"),
    quota: await versionsOf(system.database, "quota"),
    llm: await versionsOf(system.database, "llm"),
  };
});
afterAll(() => system?.stop());

function target(schema: Schema) {
  const { now, next } = versions[schema];
  return { url: system.database.url, schema, role: `parley_${schema}`, migrations: [...now, ...next] };
}

/** Tries as an installation's job does. */
async function persist<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt === TRIES || (error as pg.DatabaseError).code !== LOCK_NOT_AVAILABLE) throw error;
    }
  }
}

async function toNextVersion(): Promise<void> {
  for (const schema of SCHEMAS) await persist(() => migrate(target(schema)));
}

async function backAgain(): Promise<void> {
  for (const schema of SCHEMAS) {
    // One by one: what a failed try has taken back stays back.
    for (const _ of versions[schema].next) await persist(() => rollback(target(schema), 1));
  }
}

async function columnsOfNextVersion(): Promise<number> {
  const { n } = await query<{ n: number }>(
    system.database,
    "SELECT count(*)::integer AS n FROM information_schema.columns WHERE column_name = 'next_count'",
  );
  return n;
}

/** Visitors who talk, and owners who download, until `work` is done. Answers with what they saw. */
async function underLoad(work: () => Promise<void>): Promise<{ seen: VisitResult[]; exports: number[] }> {
  const seen: VisitResult[] = [];
  const exports: number[] = [];
  const { signal, stop } = stopper();
  const token = await system.sso.token({ workspaceId: tenant.workspaceId });
  const visitor = async () => {
    while (!signal.aborted) seen.push(await visit(system.url(), tenant));
  };
  const owner = async () => {
    while (!signal.aborted) {
      await sleep(2_100);
      const { session } = await query<{ session: string }>(
        system.database,
        "SELECT session_id AS session FROM conversation.sessions ORDER BY started_at DESC LIMIT 1",
      );
      const response = await fetch(`${system.url()}/api/conversations/${session}/export.json`, {
        headers: { authorization: `Bearer ${token}` },
      });
      await response.text();
      exports.push(response.status);
    }
  };
  const load = Promise.all([owner(), ...Array.from({ length: VISITORS }, visitor)]);
  try {
    await expect.poll(() => seen.length, { timeout: 20_000 }).toBeGreaterThan(VISITORS);
    await work();
  } finally {
    stop();
    await load;
  }
  return { seen, exports };
}

function stopper() {
  const controller = new AbortController();
  return { signal: controller.signal, stop: () => controller.abort() };
}

function expectNoErrors({ seen, exports }: { seen: VisitResult[]; exports: number[] }): void {
  expect(countOutcomes(seen)).toEqual({ stop: seen.length });
  expect(new Set(exports)).toEqual(new Set([200]));
}

test("the next version's schema comes and goes under load, this version runs on it, and nobody notices", async () => {
  const tables = SCHEMAS.flatMap((schema) => versions[schema].next).length - SCHEMAS.length;
  for (let round = 0; round < ROUNDS; round++) {
    expectNoErrors(
      await underLoad(async () => {
        await toNextVersion();
        expect(await columnsOfNextVersion()).toBe(tables);
      }),
    );
    // As after a rollback of the pods: this version also starts on it.
    const services = [system.quota, system.llm, system.conversation, ...system.edges];
    for (const service of services) await service.stop();
    await Promise.all(services.map((service) => service.start()));
    expectNoErrors(await underLoad(backAgain));
    expect(await columnsOfNextVersion()).toBe(0);
  }
  await expect
    .poll(() => readBalance(system.database), { timeout: 30_000 })
    .toMatchObject({ held: 0, streaming: 0, outbox: 0, unbalanced: 0 });
}, 300_000);

test("a migration that somebody keeps from its lock gives up after 2 s, and nobody behind it notices", async () => {
  const longReader = new pg.Client({ connectionString: system.database.url });
  await longReader.connect();
  await longReader.query("BEGIN");
  await longReader.query("SELECT FROM conversation.messages LIMIT 1");
  const waits: number[] = [];
  const load = await underLoad(async () => {
    for (let attempt = 0; attempt < 2; attempt++) {
      const began = performance.now();
      const refused = await migrate(target("conversation")).catch((error: pg.DatabaseError) => error.code);
      waits.push(performance.now() - began);
      expect(refused).toBe(LOCK_NOT_AVAILABLE);
    }
    await longReader.query("COMMIT");
    await persist(() => migrate(target("conversation")));
  });
  await longReader.end();
  expectNoErrors(load);
  for (const each of waits) {
    expect(each).toBeGreaterThan(1_900);
    expect(each).toBeLessThan(8_000);
  }
}, 120_000);
