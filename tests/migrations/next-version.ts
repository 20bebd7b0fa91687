import type { Migration } from "@parley/service-kit";
import type { TestDatabase } from "@parley/test-support";
import { queryFirstRow } from "../system/database.ts";
import { nextVersionMigrations } from "./next-migrations.ts";

export type SchemaMigrations = {
  /** This version's migrations. They are applied already, so only their names matter. */
  currentMigrations: Migration[];
  /** The migrations that the next version adds. */
  nextMigrations: Migration[];
};

/** Reads this version's migrations from a migrated database, and generates those of a next version. */
export async function listMigrations(database: Pick<TestDatabase, "url">, schema: string): Promise<SchemaMigrations> {
  const { applied, tables } = await queryFirstRow<{ applied: string[]; tables: string[] }>(
    database,
    `SELECT (SELECT array_agg(name ORDER BY id) FROM ${schema}.migrations) AS applied,
            (SELECT array_agg(tablename::text ORDER BY 1) FROM pg_tables
             WHERE schemaname = '${schema}' AND tablename NOT LIKE 'migrations%') AS tables`,
  );
  const currentMigrations = applied.map((name): Migration => ({ name, up: refuse, down: refuse }));
  return { currentMigrations, nextMigrations: nextVersionMigrations(schema, tables) };
}

const refuse = () => Promise.reject(new Error("the test must not run this version's migrations"));
