import { randomBytes } from "node:crypto";
import { Client, escapeIdentifier } from "pg";
import { inject } from "vitest";
import type {} from "./global-setup.ts";

export interface TestDatabase {
  name: string;
  /** A superuser's URL of it. */
  url: string;
  /** Drops it and disconnects whoever is still in it. */
  drop(): Promise<void>;
}

export interface CreateDatabaseOptions {
  /** The name of the database to copy; nobody may be connected to it. */
  template?: string;
  /** A superuser's URL of the server; by default the run's own. */
  serverUrl?: string;
}

/** A fresh database for a test file, by default under a name nobody else has. */
export async function createDatabase(
  name = `test_${randomBytes(8).toString("hex")}`,
  { template = "template1", serverUrl = inject("postgresUrl") }: CreateDatabaseOptions = {},
): Promise<TestDatabase> {
  await execute(serverUrl, `CREATE DATABASE ${escapeIdentifier(name)} TEMPLATE ${escapeIdentifier(template)}`);
  const url = new URL(serverUrl);
  url.pathname = `/${encodeURIComponent(name)}`;
  return {
    name,
    url: url.href,
    drop: () => execute(serverUrl, `DROP DATABASE IF EXISTS ${escapeIdentifier(name)} WITH (FORCE)`),
  };
}

async function execute(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
