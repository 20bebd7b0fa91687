import type pg from "pg";
import { tracer, withSpan } from "./tracer.ts";

/** Makes a span of each query of a pool: its statement's name and how long it took, the wait for a connection included. */
export function traceQueries(pool: pg.Pool): void {
  if (tracer() === undefined) return;
  const query = pool.query.bind(pool) as (...given: unknown[]) => Promise<unknown>;
  pool.query = ((...given: unknown[]) => {
    const name = nameOf(given[0]);
    const attributes = { "db.system.name": "postgresql", "db.query.summary": name };
    return withSpan(name, { kind: "client", attributes }, () => query(...given));
  }) as typeof pool.query;
}

function nameOf(statement: unknown): string {
  const { name } = Object(statement) as { name?: unknown };
  return typeof name === "string" ? name : "query";
}
