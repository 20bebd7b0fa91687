import type { DescService } from "@bufbuild/protobuf";
import type { Client, ConnectError } from "@connectrpc/connect";
import type { RpcClient } from "@parley/rpc";
import type { ConversationService } from "@parley/rpc/conversation";
import type { Database } from "@parley/service-kit";
import { afterAll, beforeAll } from "vitest";
import { createTestDatabase } from "./database.ts";
import { startTestQuota, type TestQuota } from "./quota.ts";
import { startTestService } from "./service.ts";

export type TestSystem = {
  /** As the service's own role. */
  database: Database;
  /** As a superuser. */
  admin: Database;
  /** The database's URL, as the service's own role. */
  databaseUrl: string;
  quota: TestQuota;
  conversation: RpcClient<typeof ConversationService>;
  opsUrl: string;
  /** A client of one of the admin services. */
  ops<S extends DescService>(service: S): Client<S>;
};

/** The service on a database of its own, beside a quota service, for the tests of one file. */
export function useTestSystem(): TestSystem {
  const system = {} as TestSystem;
  const closers: (() => Promise<void> | void)[] = [];
  beforeAll(async () => {
    const { database, admin, url, drop } = await createTestDatabase();
    closers.push(drop);
    const quota = await startTestQuota();
    closers.push(quota.close);
    const service = await startTestService(url, quota.target);
    closers.push(service.stop);
    Object.assign(system, {
      database,
      admin,
      databaseUrl: url,
      quota,
      conversation: service.conversation,
      opsUrl: service.opsUrl,
      ops: service.admin,
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

/** What a caller of the data plane is told of a failure. */
export async function rpcFailure(call: Promise<unknown>) {
  const { status, code, message } = await errorOf<{ status: number; code: string; message: string }>(call);
  return { status, code, message };
}

/** What a caller of the admin services is told of a failure. */
export async function adminFailure(call: Promise<unknown>) {
  const { code, rawMessage, metadata } = await errorOf<ConnectError>(call);
  return { code, stable: metadata.get("parley-code"), message: rawMessage };
}
