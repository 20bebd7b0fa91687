import type pg from "pg";
import { currentTracer, withSpan } from "./tracer.ts";

/** Traces each query of a pool, with its statement's name. The span includes the wait for a connection. */
export function traceQueries(pool: pg.Pool): void {
  if (currentTracer() === undefined) return;
  const query = pool.query as (...args: unknown[]) => Promise<unknown>;
  // `this` can be an object that CallPool.databaseFor derived from the pool.
  pool.query = function (this: pg.Pool, ...args: unknown[]) {
    const name = statementName(args[0]);
    const attributes = { "db.system.name": "postgresql", "db.query.summary": name };
    return withSpan(name, { kind: "client", attributes }, () => Reflect.apply(query, this, args));
  } as typeof pool.query;
}

function statementName(statement: unknown): string {
  const { name } = Object(statement) as { name?: unknown };
  return typeof name === "string" ? name : "query";
}
