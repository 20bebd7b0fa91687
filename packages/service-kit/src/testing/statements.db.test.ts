import { createDatabase } from "@parley/test-support";
import { expect, onTestFinished, test } from "vitest";
import { openDatabase } from "../database/database.ts";
import { avoidSort } from "../database/workspace-transaction.ts";
import { createLogger } from "../process/logger.ts";
import { recordStatements } from "./statements.ts";

test.each(["COMMIT", "ROLLBACK"])(
  "recordStatements records the statement of setLocal with each later statement until %s",
  async (end) => {
    const { url, drop } = await createDatabase();
    const pool = openDatabase({ url, applicationName: "test", maxConnections: 1 }, createLogger("test", "silent"));
    onTestFinished(async () => {
      await pool.end();
      await drop();
    });
    const statements = await recordStatements(pool, async (database) => {
      const connection = await database.connect();
      await connection.query("CREATE TEMP TABLE rows (workspace_id text)");
      await connection.query("BEGIN");
      await avoidSort(connection, { table: "rows", workspaceId: "a" });
      for (const text of ["SELECT 1", end, "SELECT 2"]) await connection.query(text);
      connection.release();
    });
    expect(statements.slice(1).map(({ text, setting }) => [text, setting?.values])).toEqual([
      ["SELECT 1", ["a"]],
      ["SELECT 2", undefined],
    ]);
  },
);
