import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { nodeFlags, startProcess } from "../process.ts";

export interface PgvectorServer {
  /** Connects as a superuser, so CREATE EXTENSION vector works. */
  url: string;
  /** Runs SQL as the superuser. */
  query(sql: string): Promise<void>;
  /** Stops the server and discards its data. */
  stop(): Promise<void>;
}

/**
 * Starts PGlite (PostgreSQL compiled to WebAssembly), which has pgvector; the bundled PostgreSQL and Debian's do not. All connections share
 * one session with its settings, role and prepared statements. Use one connection, or unnamed statements.
 */
export async function startPgvectorServer(): Promise<PgvectorServer> {
  const server = await startProcess({
    name: "PostgreSQL with pgvector",
    command: process.execPath,
    args: [...nodeFlags, fileURLToPath(new URL("main.ts", import.meta.url))],
    ready: /^\{.*\}$/m,
    readyTimeoutMs: 120_000,
  });
  const { url } = JSON.parse((await server.waitReady())?.[0] ?? "") as { url: string };
  return {
    url,
    async query(sql) {
      const client = new Client({ connectionString: url });
      await client.connect();
      await client.query(sql).finally(() => client.end());
    },
    async stop() {
      await server.stop();
    },
  };
}
