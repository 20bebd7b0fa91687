import { setTimeout as sleep } from "node:timers/promises";
import { isFullRun, startTestPostgres, type TestPostgres } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { chat } from "./system/chat.ts";
import { queryFirstRow, waitUntilSettled } from "./system/database.ts";
import { createTenant, type System, startSystem, type Tenant } from "./system/system.ts";
import { outcomeOf, TRUST_FORWARDED_FOR, visit } from "./system/visitors.ts";

const READ_ONLY_MS = 40_000;
const VISITORS = 8;
const MAX_LINES_PER_SERVICE = 20;
/** Longer than an edge retries to store the end of a reply that began before the database became read-only. */
const TOKENS = Array.from({ length: 40 }, () => "word ");

let server: TestPostgres;
let system: System;
let tenant: Tenant;
beforeAll(async () => {
  server = await startTestPostgres();
  system = await startSystem({
    databaseServerUrl: server.url,
    edges: 2,
    script: () => ({ tokens: TOKENS, everyMs: 50 }),
    env: { edge: TRUST_FORWARDED_FOR },
  });
  tenant = await createTenant(system.admin, { plan: "scale" });
});
afterAll(async () => {
  await system?.stop();
  await server?.stop();
});

async function setReadOnly(value: "on" | "off"): Promise<void> {
  await queryFirstRow(system.database, `ALTER SYSTEM SET default_transaction_read_only = ${value}`);
  await queryFirstRow(system.database, "SELECT pg_reload_conf()");
}

test.runIf(isFullRun)(
  "a database that is read-only for 40 s under load causes at most 20 log lines a service",
  async () => {
    const services = [...system.edges, system.conversation, system.quota, system.llm];
    const load = new AbortController();
    const outcomes: Record<string, number> = {};
    const visitors = Array.from({ length: VISITORS }, async () => {
      while (!load.signal.aborted) {
        const outcome = outcomeOf(await visit(system.url(Math.round(Math.random())), tenant));
        outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
        await sleep(100);
      }
    });
    await sleep(3_000);
    const linesBefore = services.map((service) => service.outputs().split("\n").length);
    await setReadOnly("on");
    await sleep(READ_ONLY_MS);
    const lines = services.map((service, index) =>
      service
        .outputs()
        .split("\n")
        .slice((linesBefore[index] ?? 0) - 1),
    );
    await setReadOnly("off");
    load.abort();
    await Promise.all(visitors);
    // Each turn has a line of its own, as without the failure.
    const failures = lines.map((some) =>
      some.filter((line) => line !== "" && !line.includes('"message":"turn closed"')),
    );
    for (const [index, some] of failures.entries())
      expect(some.length, `${services[index]?.name}:\n${some.join("\n")}`).toBeLessThanOrEqual(MAX_LINES_PER_SERVICE);
    const conversation = failures[system.edges.length]?.join("\n") ?? "";
    expect(conversation).toMatch(/"cause":"25006".*"message":"errors repeated"/);
    expect(outcomes["503"], JSON.stringify(outcomes)).toBeGreaterThan(100);
    await waitUntilSettled(system.database, 60_000);
    expect((await chat(system.url(), tenant)).done).toMatchObject({ finish_reason: "stop" });
  },
  180_000,
);
