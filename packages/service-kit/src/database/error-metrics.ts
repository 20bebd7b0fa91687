import { Counter, type Registry } from "prom-client";
import { startAtZero } from "../ops/metrics.ts";
import { type Database, sqlState } from "./database.ts";

/** A statement's timeout. It has a value of its own, because the other errors of its class are those of a server that stops. */
const STATEMENT_TIMEOUT = "57014";
/** The classes of SQLSTATEs that Parley's statements and connections can get. */
const CLASSES = ["08", "22", "23", "25", "28", "3D", "40", "42", "53", "54", "55", "57", STATEMENT_TIMEOUT, "58", "XX"];
/** Errors without an SQLSTATE: the network, and a response that is missing. */
const OTHER_CLASSES = ["connection", "timeout", "other"];

/** Counts the errors of a connection pool. */
export type CountErrors = (pool: string, database: Database) => void;

export function createDatabaseErrorCounter(registry: Registry): CountErrors {
  const errors = new Counter({
    name: "parley_db_errors_total",
    help: "Errors from the database, by pool and class: the first two characters of the SQLSTATE, 57014 for a statement's timeout, connection for an error of the network, timeout for a missing response.",
    labelNames: ["pool", "class"],
    registers: [registry],
  });
  return (pool, database) => {
    startAtZero(errors, { pool: [pool], class: [...CLASSES, ...OTHER_CLASSES] });
    observeErrors(database, (errorClass) => errors.inc({ pool, class: errorClass }));
  };
}

/** The part of a connection that emits each error that the server sends. pg's types lack it. */
type Protocol = { connection: { on(event: "errorMessage", listener: (message: { code?: string }) => void): void } };

function observeErrors(database: Database, count: (errorClass: string) => void): void {
  database.on("connect", (connection) => {
    // Costs nothing for a statement that succeeds.
    (connection as unknown as Protocol).connection.on("errorMessage", ({ code }) => count(classOf(code)));
    connection.on("error", (error) => {
      // An error that the server sent has already been counted.
      if (sqlState(error) === undefined) count("connection");
    });
  });
  database.on("release", (error: unknown) => {
    if (error instanceof Error && error.message === "Query read timeout") count("timeout");
  });
  observeFailedConnects(database, (error) => {
    if (/timeout exceeded when trying to connect|Connection terminated due to connection timeout/.test(error.message))
      return count("timeout");
    const code = sqlState(error);
    // The pool also rejects with an error of its own after it has ended.
    if (code !== undefined) count(classOf(code));
    else if (!database.ending) count("connection");
  });
}

type Connect = (callback?: (error: Error | undefined, ...rest: unknown[]) => void) => Promise<unknown> | undefined;

/** Calls `onError` for each call of `connect` that fails. The pool's `query` calls `connect` with a callback. */
function observeFailedConnects(database: Database, onError: (error: Error) => void): void {
  const connect = database.connect as unknown as Connect;
  // `this` can be an object that CallPool.databaseFor derived from the pool.
  database.connect = function (this: Database, callback?: Parameters<Connect>[0]) {
    if (callback !== undefined)
      return connect.call(this, (error, ...rest) => {
        if (error !== undefined && error !== null) onError(error);
        callback(error, ...rest);
      });
    return connect.call(this)?.catch((error: Error) => {
      onError(error);
      throw error;
    });
  } as typeof database.connect;
}

function classOf(code: string | undefined): string {
  if (code === STATEMENT_TIMEOUT) return code;
  const errorClass = code?.slice(0, 2) ?? "";
  return CLASSES.includes(errorClass) ? errorClass : "other";
}
