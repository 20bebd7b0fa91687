import { spawn } from "node:child_process";
import { once } from "node:events";

export type Transfer = { bytes: number; seconds: number };

/** Reads a query's rows with psql's `\copy`. Returns the size of the rows and the duration. Throws if psql fails. */
export async function copyWithPsql(url: string, query: string): Promise<Transfer> {
  const started = performance.now();
  const psql = spawn("psql", ["-X", "-q", "-c", `\\copy (${query}) TO STDOUT`, url], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const closed = once(psql, "close");
  let bytes = 0;
  for await (const chunk of psql.stdout as AsyncIterable<Buffer>) bytes += chunk.length;
  const seconds = (performance.now() - started) / 1_000;
  const [code, signal] = (await closed) as [number | null, NodeJS.Signals | null];
  if (code !== 0) throw new Error(`psql exited with ${signal ?? code}`);
  return { bytes, seconds };
}
