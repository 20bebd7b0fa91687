import { findDatabaseProblems } from "@parley/cli/shards/catalog";
import { onPlace, type Place } from "@parley/cli/shards/connect";
import { fence } from "@parley/cli/shards/fence";
import { withLock } from "@parley/cli/shards/lock";
import { findServerProblems } from "@parley/cli/shards/preconditions";
import { catchUp, createConninfo, type Replication, unsubscribe } from "@parley/cli/shards/replication";
import type { Server, Settings } from "@parley/cli/shards/settings";
import { createDatabase, queryRows, startTestPostgres, type TestPostgres } from "@parley/test-support";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";

let postgres: TestPostgres;
let server: Server;
beforeAll(async () => {
  postgres = await startTestPostgres({ preferMemory: true });
  const settings = { wal_level: "logical", max_replication_slots: 4, max_wal_senders: 4, max_prepared_transactions: 2 };
  for (const [name, value] of Object.entries(settings))
    await queryRows(postgres.url, `ALTER SYSTEM SET ${name} = ${value}`);
  await postgres.restart();
  server = { name: "a", url: postgres.url };
});
afterAll(() => postgres?.stop());

async function createPlace(): Promise<Place> {
  const database = await createDatabase(undefined, { serverUrl: postgres.url });
  onTestFinished(() => database.drop());
  return { server, database: database.name };
}

const createReplication = async (): Promise<Replication> => ({
  name: "parley_0_move",
  source: await createPlace(),
  target: await createPlace(),
});

test("catching up fails at once when the replication slot is gone", async () => {
  const startedAt = performance.now();
  await expect(catchUp([await createReplication()], 60_000)).rejects.toThrow("slot parley_0_move is gone");
  expect(performance.now() - startedAt).toBeLessThan(30_000);
});

test("the end of a replication drops its own slots, and no slot of another server or subscription", async () => {
  const replication = await createReplication();
  const { source } = replication;
  const [own] = await queryRows<{ id: string }>(
    postgres.url,
    "SELECT system_identifier::text AS id FROM pg_control_system()",
  );
  const slots = ["parley_0_move", `pg_999_sync_1_${own?.id}`, "pg_999_sync_1_42"];
  for (const slot of slots)
    await onPlace(source, (client) =>
      client.query("SELECT pg_create_logical_replication_slot($1, 'pgoutput')", [slot]),
    );
  await unsubscribe(replication);
  expect(await queryRows(postgres.url, "SELECT slot_name FROM pg_replication_slots")).toEqual([
    { slot_name: "pg_999_sync_1_42" },
  ]);
  await queryRows(postgres.url, "SELECT pg_drop_replication_slot('pg_999_sync_1_42')");
});

test("a prepared transaction is a problem before the replication, and for the fence", async () => {
  const place = await createPlace();
  await onPlace(place, async (client) => {
    await client.query("CREATE TABLE t (id integer PRIMARY KEY)");
    await client.query("BEGIN; INSERT INTO t VALUES (1); PREPARE TRANSACTION 'late'");
  });
  expect(await onPlace(place, findDatabaseProblems)).toEqual([
    expect.stringContaining("prepared transactions are open: late"),
  ]);
  await expect(fence(place)).rejects.toThrow("prepared transactions are open: late");
  await onPlace(place, (client) => client.query("ROLLBACK PREPARED 'late'"));
});

test("the next step fails when the connection that holds the lock was lost", async () => {
  await withLock(server, "parley_0", async (assertLocked) => {
    await assertLocked();
    await queryRows(
      postgres.url,
      "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND pid <> pg_backend_pid()",
    );
    await expect.poll(() => assertLocked().catch(String)).toContain("the lock of parley_0 on a was lost");
  });
});

test("a server needs slots, WAL senders and workers for each copy and the tables that it copies at once", async () => {
  const settings = { administrator: { user: "postgres" } } as Settings;
  const problemsOf = async (copies: number) =>
    (await findServerProblems(settings, { source: server, targets: new Map([[server, copies]]) })).problems;
  expect(await problemsOf(1)).toEqual([]);
  expect(await problemsOf(2)).toEqual([
    "server a has 4 free replication slots, and 6 are needed: raise max_replication_slots",
    "server a has 4 free WAL senders, and 6 are needed: raise max_wal_senders",
  ]);
  expect(await problemsOf(4)).toContain(
    "server a has 4 free replication workers, and 5 are needed: raise max_logical_replication_workers and max_worker_processes",
  );
});

test("the connection of a replication quotes its password, and an IPv6 address has no brackets", () => {
  const quoted = { name: "a", url: `postgres://postgres:${encodeURIComponent("it's \\")}@[::1]:5433` };
  expect(createConninfo({ server: quoted, database: "parley_0" }, "move")).toBe(
    "host='::1' port='5433' dbname='parley_0' user='postgres' password='it\\'s \\\\' application_name='move' connect_timeout='10'",
  );
});
