import { randomBytes } from "node:crypto";
import { createDatabase, describeWith, type PgBouncer, startPgBouncer, type TestDatabase } from "@parley/test-support";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createLogger } from "../process/logger.ts";
import { type Database, openDatabase, transaction, withQueryTimeout } from "./database.ts";
import { migrate } from "./migrate.ts";

const CLIENT_CONNECTIONS = 12;
const SERVER_CONNECTIONS = 2;
const ROLE = `pooled_${randomBytes(4).toString("hex")}`;

describeWith("pgbouncer", "PgBouncer in transaction mode", () => {
  let database: TestDatabase;
  let admin: Database;
  const log = createLogger("test", "silent");
  beforeAll(async () => {
    database = await createDatabase();
    admin = openDatabase({ url: database.url, applicationName: "test", maxConnections: 1 }, log);
    await admin.query(`CREATE ROLE ${ROLE} LOGIN PASSWORD 'test'; ALTER ROLE ${ROLE} SET statement_timeout = '3s'`);
  });
  afterAll(async () => {
    await admin.query(`DROP ROLE ${ROLE}`);
    await admin.end();
    await database.drop();
  });

  test("migrate refuses the pooler before it changes anything, and the error names the chart's value migrations.database.host", async () => {
    const passwords = { [ROLE]: "test" };
    const pooler = await startPgBouncer({
      poolSize: SERVER_CONNECTIONS,
      passwords,
      maxPreparedStatements: 0,
      serverUrl: database.url,
    });
    onTestFinished(() => pooler.stop());
    const url = pooler.through(Object.assign(new URL(database.url), { username: ROLE, password: "test" }).href);
    await expect(migrate({ url, schema: "pooled", role: ROLE, migrations: [] })).rejects.toThrow(
      /^127\.0\.0\.1:\d+ is a pooler in transaction mode; .*migrations\.database\.host/,
    );
    expect((await admin.query("SELECT FROM pg_namespace WHERE nspname = 'pooled'")).rowCount).toBe(0);
  });

  describe.each([
    { pooler: "that does not track prepared statements", maxPreparedStatements: 0 },
    { pooler: "that tracks prepared statements", maxPreparedStatements: 100 },
  ])("$pooler", ({ maxPreparedStatements }) => {
    let pooler: PgBouncer;
    let url: string;
    beforeAll(async () => {
      const options = { poolSize: SERVER_CONNECTIONS, passwords: { [ROLE]: "test" }, maxPreparedStatements };
      pooler = await startPgBouncer({ ...options, serverUrl: database.url });
      url = pooler.through(Object.assign(new URL(database.url), { username: ROLE, password: "test" }).href);
    });
    afterAll(() => pooler.stop());

    async function withPool<T>(
      options: { usesPreparedStatements?: boolean; queryTimeoutMs?: number },
      work: (pool: Database) => Promise<T>,
    ): Promise<T> {
      const pool = openDatabase({ url, applicationName: "test", maxConnections: CLIENT_CONNECTIONS, ...options }, log);
      try {
        return await work(pool);
      } finally {
        await pool.end();
      }
    }

    /** Runs three different statements concurrently on all connections of the pool, five times. Returns the error codes. */
    async function runEverywhere(pool: Database): Promise<string[]> {
      const codes = new Set<string>();
      const run = async (name: string, value: number) => {
        try {
          const { rows } = await pool.query({
            name,
            text: `SELECT $1::int AS ${name}, pg_sleep(0.001)`,
            values: [value],
          });
          expect(rows[0]).toMatchObject({ [name]: value });
        } catch (error) {
          codes.add(String((error as { code?: string }).code));
        }
      };
      for (let round = 0; round < 5; round++) {
        const calls = Array.from({ length: CLIENT_CONNECTIONS * 2 }, (_, index) =>
          run(`statement_${index % 3}`, index),
        );
        await Promise.all(calls);
      }
      return [...codes].sort();
    }

    test("without prepared statements, queries work on more client connections than server connections", async () => {
      const codes = await withPool({ usesPreparedStatements: false }, async (pool) => {
        const codes = await runEverywhere(pool);
        expect(pool.totalCount).toBe(CLIENT_CONNECTIONS);
        return codes;
      });
      expect(codes).toEqual([]);
    });

    if (maxPreparedStatements === 0) {
      test("a prepared statement fails if another client connection has created it on the same server connection", async () => {
        expect(await withPool({}, runEverywhere)).toContain("42P05");
      });
    } else {
      test("prepared statements work on more client connections than server connections", async () => {
        expect(await withPool({}, runEverywhere)).toEqual([]);
      });
    }

    test("a transaction's longer timeout ends with the transaction, and the role's timeout applies on every server connection", async () => {
      await withPool({ usesPreparedStatements: false }, async (pool) => {
        const readStatementTimeout = async (run: Pick<Database, "query"> = pool): Promise<string> =>
          (await run.query<{ statement_timeout: string }>("SHOW statement_timeout")).rows[0]?.statement_timeout ?? "";
        const timeouts = await Promise.all(
          Array.from({ length: CLIENT_CONNECTIONS }, () =>
            transaction(pool, async (connection) => {
              await connection.query("SET LOCAL statement_timeout = 60000");
              await connection.query(withQueryTimeout("SELECT pg_sleep($1)", [0.01], 62_000));
              return readStatementTimeout(connection);
            }),
          ),
        );
        expect(new Set(timeouts)).toEqual(new Set(["1min"]));
        const after = await Promise.all(Array.from({ length: CLIENT_CONNECTIONS }, () => readStatementTimeout()));
        expect(new Set(after)).toEqual(new Set(["3s"]));
      });
    });

    test("the result of a statement that its client has abandoned does not reach another client", async () => {
      await withPool({ usesPreparedStatements: false, queryTimeoutMs: 100 }, async (pool) => {
        const abandoned = Array.from({ length: SERVER_CONNECTIONS }, () =>
          pool.query("SELECT 'abandoned', pg_sleep(0.3)"),
        );
        for (const result of await Promise.allSettled(abandoned)) expect(result.status).toBe("rejected");
      });
      await withPool({ usesPreparedStatements: false }, async (pool) => {
        expect(await runEverywhere(pool)).toEqual([]);
      });
    });
  });
});
