import { type Knex, type Migration, withoutLockTimeout } from "@parley/service-kit/migrations";

/**
 * Returns migrations of an invented next version, with every kind of change that it may make while this version runs. They exist only in tests
 * and prove the rules for migrations in CONTRIBUTING.md. Each table gets a column with a default, a column without one, a check that is
 * validated in a second step, and an index. The schema gets a new table. Each migration locks only one table, because two locks could
 * deadlock with the traffic.
 */
export function nextVersionMigrations(schema: string, tables: readonly string[]): Migration[] {
  return [...tables.map((table) => widenTableMigration(schema, table)), addTableMigration(schema)];
}

function widenTableMigration(schema: string, table: string): Migration {
  const name = `${schema}.${table}`;
  const index = `${table}_next_note`;
  return {
    name: `9000_${table}`,
    // CREATE INDEX CONCURRENTLY cannot run in a transaction. So a retry must succeed even if a failed attempt applied some of the statements.
    config: { transaction: false },
    up: async (knex: Knex) => {
      await knex.raw(`ALTER TABLE ${name} ADD COLUMN IF NOT EXISTS next_note text,
                                          ADD COLUMN IF NOT EXISTS next_count integer NOT NULL DEFAULT 0`);
      await knex.raw(`ALTER TABLE ${name} DROP CONSTRAINT IF EXISTS ${table}_next_count`);
      await knex.raw(`ALTER TABLE ${name} ADD CONSTRAINT ${table}_next_count CHECK (next_count >= 0) NOT VALID`);
      await knex.raw(`ALTER TABLE ${name} VALIDATE CONSTRAINT ${table}_next_count`);
      await withoutLockTimeout(knex, async () => {
        // An interrupted build leaves an invalid index.
        await knex.raw(`DROP INDEX CONCURRENTLY IF EXISTS ${schema}.${index}`);
        await knex.raw(`CREATE INDEX CONCURRENTLY ${index} ON ${name} (next_note) WHERE next_note IS NOT NULL`);
      });
    },
    down: async (knex: Knex) => {
      await withoutLockTimeout(knex, () => knex.raw(`DROP INDEX CONCURRENTLY IF EXISTS ${schema}.${index}`));
      await knex.raw(`ALTER TABLE ${name} DROP COLUMN IF EXISTS next_note, DROP COLUMN IF EXISTS next_count`);
    },
  };
}

function addTableMigration(schema: string): Migration {
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

/**
 * Returns a migration that contracts the schema (as in expand and contract). A version before `oldestVersion` cannot use the contracted
 * schema.
 */
export function contractionMigration(schema: string, { oldestVersion }: { oldestVersion: string }): Migration {
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
