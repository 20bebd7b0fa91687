import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { nodeFlags, startProcess } from "../process.ts";

export interface PgvectorServer {
  /** A superuser's, of a database that has pgvector to offer: CREATE EXTENSION vector. */
  url: string;
  /** Does what only a superuser may. */
  query(sql: string): Promise<void>;
  /** Ends the server; its data was in memory. */
  stop(): Promise<void>;
}

/**
 * A PostgreSQL with pgvector, which neither the packaged server nor Debian's has: PGlite, PostgreSQL compiled to WebAssembly, behind a socket. All
 * its connections share one session, with its settings, its role and its named statements: use a single connection, or none that names any.
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
