import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { nodeFlags, startProcess } from "../process.ts";

export interface PgvectorServer {
  /** URL for a superuser, of a database in which CREATE EXTENSION vector works. */
  url: string;
  /** Runs SQL as the superuser. */
  query(sql: string): Promise<void>;
  /** Stops the server, which kept its data in memory. */
  stop(): Promise<void>;
}

/**
 * Starts PGlite, PostgreSQL compiled to WebAssembly, behind a socket: the bundled PostgreSQL and Debian's have no pgvector. All connections
 * share one session with its settings, role and prepared statements. So use one connection, or statements without a name.
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
