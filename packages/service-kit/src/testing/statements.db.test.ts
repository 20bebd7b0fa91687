import { createDatabase } from "@parley/test-support";
import { expect, onTestFinished, test } from "vitest";
import { AVOID_SORT, openDatabase } from "../database/database.ts";
import { createLogger } from "../process/logger.ts";
import { recordStatements } from "./statements.ts";

test.each(["COMMIT", "ROLLBACK"])(
  "recordStatements records a SET statement with each later statement until %s",
  async (end) => {
    const { url, drop } = await createDatabase();
    const pool = openDatabase({ url, applicationName: "test", maxConnections: 1 }, createLogger("test", "silent"));
    onTestFinished(async () => {
      await pool.end();
      await drop();
    });
    const statements = await recordStatements(pool, async (database) => {
      const connection = await database.connect();
      for (const text of ["BEGIN", AVOID_SORT, "SELECT 1", end, "SELECT 2"]) await connection.query(text);
      connection.release();
    });
    expect(statements.map(({ text, setting }) => [text, setting])).toEqual([
      ["SELECT 1", AVOID_SORT],
      ["SELECT 2", undefined],
    ]);
  },
);
