import { randomBytes } from "node:crypto";
import { Client, escapeIdentifier } from "pg";
import { inject } from "vitest";
import type {} from "./global-setup.ts";

export interface TestDatabase {
  name: string;
  /** The database's URL for a superuser. */
  url: string;
  /** Drops the database, closing open connections. */
  drop(): Promise<void>;
}

export interface CreateDatabaseOptions {
  /** The database to copy, by default an empty one. It must have no open connections. */
  template?: string;
  /** The server's URL for a superuser; by default the test run's server. */
  serverUrl?: string;
}

/**
 * An empty database sorts text by the rules of a language, as databases in production do by default. So the tests find code that expects
 * JavaScript's order, which is by code units.
 */
const EMPTY_DATABASE = "TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US'";

export async function createDatabase(
  name = `test_${randomBytes(8).toString("hex")}`,
  { template, serverUrl = inject("postgresUrl") }: CreateDatabaseOptions = {},
): Promise<TestDatabase> {
  const source = template === undefined ? EMPTY_DATABASE : `TEMPLATE ${escapeIdentifier(template)}`;
  // FILE_COPY takes a fraction of the time of the default strategy, which writes each page of the template to the WAL.
  await queryRows(serverUrl, `CREATE DATABASE ${escapeIdentifier(name)} ${source} STRATEGY = FILE_COPY`);
  const url = new URL(serverUrl);
  url.pathname = `/${encodeURIComponent(name)}`;
  return {
    name,
    url: url.href,
    drop: async () => {
      await queryRows(serverUrl, `DROP DATABASE IF EXISTS ${escapeIdentifier(name)} WITH (FORCE)`);
    },
  };
}

/** Runs SQL on a new connection and returns the rows of the last statement. SQL with values must be a single statement. */
export async function queryRows<T extends object>(url: string, sql: string, values: unknown[] = []): Promise<T[]> {
  const client = new Client({ connectionString: url });
  // Some tests kill the server. Without a listener, a connection lost between queries would end this process.
  client.on("error", () => undefined);
  await client.connect();
  try {
    // pg returns an array when the SQL has several statements.
    const results = [await client.query<T>(sql, values.length > 0 ? values : undefined)].flat();
    return results.at(-1)?.rows ?? [];
  } finally {
    await client.end();
  }
}
