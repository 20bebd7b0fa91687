import type pg from "pg";
import { tracer, withSpan } from "./tracer.ts";

/** Traces each query of a pool, with its statement's name. The span includes the wait for a connection. */
export function traceQueries(pool: pg.Pool): void {
  if (tracer() === undefined) return;
  const query = pool.query.bind(pool) as (...args: unknown[]) => Promise<unknown>;
  pool.query = ((...args: unknown[]) => {
    const name = nameOf(args[0]);
    const attributes = { "db.system.name": "postgresql", "db.query.summary": name };
    return withSpan(name, { kind: "client", attributes }, () => query(...args));
  }) as typeof pool.query;
}

function nameOf(statement: unknown): string {
  const { name } = Object(statement) as { name?: unknown };
  return typeof name === "string" ? name : "query";
}
