import type { DescService } from "@bufbuild/protobuf";
import type { Client, ConnectError } from "@connectrpc/connect";
import type { RpcClient } from "@parley/rpc";
import type { ConversationService, HandoffService, SessionAdminService } from "@parley/rpc/conversation";
import type { Outcome } from "@parley/rpc/outcomes";
import type { Database } from "@parley/service-kit";
import { afterAll, beforeAll } from "vitest";
import { createTestDatabase } from "./database.ts";
import { startTestQuota, type TestQuota } from "./quota.ts";
import { startTestService } from "./service.ts";

/** A time in an admin response. */
export const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

export type TestSystem = {
  /** Connects with the service's role. */
  database: Database;
  /** Connects as the database's superuser. Unrelated to the admin services: `createAdminClient` returns their clients. */
  admin: Database;
  /** Contains the service's role. */
  databaseUrl: string;
  quota: TestQuota;
  conversation: RpcClient<typeof ConversationService>;
  /** Calls as the edge does. */
  sessions: RpcClient<typeof SessionAdminService>;
  /** Calls as the edge does. */
  handoffs: RpcClient<typeof HandoffService>;
  opsUrl: string;
  /** Returns a client of an admin service. */
  createAdminClient<S extends DescService>(service: S): Client<S>;
};

/** Runs the service with its own database and a fake quota service during the tests of a file. `env` has more settings. */
export function useTestSystem(env: Record<string, string> = {}): TestSystem {
  const system = {} as TestSystem;
  const closers: (() => Promise<void> | void)[] = [];
  beforeAll(async () => {
    const { database, admin, url, drop } = await createTestDatabase();
    closers.push(drop);
    const quota = await startTestQuota();
    closers.push(quota.close);
    const service = await startTestService(url, quota.target, env);
    closers.push(service.stop);
    Object.assign(system, {
      database,
      admin,
      databaseUrl: url,
      quota,
      conversation: service.conversation,
      sessions: service.sessions,
      handoffs: service.handoffs,
      opsUrl: service.opsUrl,
      createAdminClient: service.createAdminClient,
    });
  });
  afterAll(async () => {
    for (const close of closers.reverse()) await close();
  });
  return system;
}

async function errorOf<E>(call: Promise<unknown>): Promise<E> {
  let value: unknown;
  try {
    value = await call;
  } catch (error) {
    return error as E;
  }
  throw new Error(
    `the call succeeded with ${JSON.stringify(value, (_, each) => (typeof each === "bigint" ? `${each}` : each))}`,
  );
}

/** Returns the error of a call between services. Throws if the call succeeds. */
export async function rpcFailure(call: Promise<unknown>) {
  const { status, code, message } = await errorOf<{ status: number; code: string; message: string }>(call);
  return { status, code, message };
}

/** Returns the error of an admin call, with its status in `code`. Throws if the call succeeds. */
export async function adminFailure(call: Promise<unknown>) {
  const { code, rawMessage, metadata } = await errorOf<ConnectError>(call);
  return { code, parleyCode: metadata.get("parley-code"), message: rawMessage };
}

export async function countClosedTurns({ opsUrl }: TestSystem, outcome: Outcome): Promise<number> {
  const metrics = await (await fetch(`${opsUrl}/metrics`)).text();
  return Number(new RegExp(`^parley_turns_closed_total\\{outcome="${outcome}".*\\} (\\d+)$`, "m").exec(metrics)?.[1]);
}

/**
 * Makes 20 admin calls that insert into `table` at the same time. A trigger delays each insert by 0.5 s, so that the inserts overlap. Returns
 * how many calls had each result: `ok`, or Parley's error code.
 */
export async function countResultsOfConcurrentInserts(
  admin: Database,
  table: string,
  call: (n: number) => Promise<unknown>,
): Promise<Record<string, number>> {
  await admin.query(`
    CREATE FUNCTION public.delay_insert() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.5); RETURN NEW; END';
    CREATE TRIGGER delay BEFORE INSERT ON ${table} FOR EACH ROW EXECUTE FUNCTION public.delay_insert()`);
  const results = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      call(n).then(
        () => "ok",
        (error: ConnectError) => error.metadata.get("parley-code") ?? error.message,
      ),
    ),
  );
  await admin.query("DROP FUNCTION public.delay_insert CASCADE");
  const counts: Record<string, number> = {};
  for (const result of results) counts[result] = (counts[result] ?? 0) + 1;
  return counts;
}
