import type { Knex, Migration } from "@parley/service-kit";
import type { TestDatabase } from "@parley/test-support";
import { query } from "../system/database.ts";

export type Versions = {
  /** This version's migrations, which are applied and need only be named. */
  now: Migration[];
  /** The next version's on top. */
  next: Migration[];
};

/** The migrations of this version and of a next one, read from a migrated database. */
export async function versionsOf(database: Pick<TestDatabase, "url">, schema: string): Promise<Versions> {
  const { applied, tables } = await query<{ applied: string[]; tables: string[] }>(
    database,
    `SELECT (SELECT array_agg(name ORDER BY id) FROM ${schema}.migrations) AS applied,
            (SELECT array_agg(tablename::text ORDER BY 1) FROM pg_tables
             WHERE schemaname = '${schema}' AND tablename NOT LIKE 'migrations%') AS tables`,
  );
  const now = applied.map((name): Migration => ({ name, up: refuse, down: refuse }));
  return { now, next: nextVersion(schema, tables) };
}

const refuse = () => Promise.reject(new Error("this version's own migrations stay"));

/**
 * What a next version may add to a schema while this one runs on it: to each of its tables a column with a default, one without, a check
 * that is made valid afterwards, and an index; besides them a table of its own. One table a migration, as a migration that holds one
 * table while it waits for another could wait in a circle with the traffic.
 */
function nextVersion(schema: string, tables: readonly string[]): Migration[] {
  return [...tables.map((table) => widen(schema, table)), addTable(schema)];
}

function widen(schema: string, table: string): Migration {
  const name = `${schema}.${table}`;
  const index = `${table}_next_note`;
  return {
    name: `9000_${table}`,
    // An index is built beside the traffic outside of a transaction; each statement may therefore find what an earlier try has left.
    config: { transaction: false },
    up: async (knex: Knex) => {
      await knex.raw(`ALTER TABLE ${name} ADD COLUMN IF NOT EXISTS next_note text,
                                          ADD COLUMN IF NOT EXISTS next_count integer NOT NULL DEFAULT 0`);
      await knex.raw(`ALTER TABLE ${name} DROP CONSTRAINT IF EXISTS ${table}_next_count`);
      await knex.raw(`ALTER TABLE ${name} ADD CONSTRAINT ${table}_next_count CHECK (next_count >= 0) NOT VALID`);
      await knex.raw(`ALTER TABLE ${name} VALIDATE CONSTRAINT ${table}_next_count`);
      await knex.raw(`DROP INDEX CONCURRENTLY IF EXISTS ${schema}.${index}`);
      await knex.raw(`CREATE INDEX CONCURRENTLY ${index} ON ${name} (next_note) WHERE next_note IS NOT NULL`);
    },
    down: async (knex: Knex) => {
      await knex.raw(`DROP INDEX CONCURRENTLY IF EXISTS ${schema}.${index}`);
      await knex.raw(`ALTER TABLE ${name} DROP COLUMN IF EXISTS next_note, DROP COLUMN IF EXISTS next_count`);
    },
  };
}

function addTable(schema: string): Migration {
  return {
    name: "9001_next_things",
    up: async (knex: Knex) => {
      await knex.raw(`CREATE TABLE ${schema}.next_things (workspace_id text PRIMARY KEY)`);
    },
    down: async (knex: Knex) => {
      await knex.raw(`DROP TABLE ${schema}.next_things`);
    },
  };
}

/** A contraction after the next version, on whose schema only `oldestVersion` and newer ones run. */
export function contraction(schema: string, oldestVersion: string): Migration {
  return {
    name: "9002_contraction",
    oldestVersion,
    up: async (knex: Knex) => {
      await knex.raw(`ALTER TABLE ${schema}.next_things ADD COLUMN kind text NOT NULL`);
    },
    down: async (knex: Knex) => {
      await knex.raw(`ALTER TABLE ${schema}.next_things DROP COLUMN kind`);
    },
  };
}
