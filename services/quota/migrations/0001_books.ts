import type { Knex } from "@parley/service-kit";

export const name = "0001_books";

/**
 * The tables of usage accounting:
 * usage         one row per workspace and month: the counted and the held messages.
 * reservations  one row per turn with a reservation: held, then done or void. Its primary key serializes Reserve and Settle of a turn.
 * ledger        one row per counted turn, never updated. Proves usage.used.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE quota.plans (
      plan        text PRIMARY KEY,
      monthly_cap integer NOT NULL CHECK (monthly_cap >= 0)
    );
    INSERT INTO quota.plans (plan, monthly_cap) VALUES ('free', 100), ('pro', 5000), ('scale', 25000);

    CREATE TABLE quota.workspaces (
      workspace_id text PRIMARY KEY CHECK (workspace_id ~ '^[A-Za-z0-9._-]{1,64}$'),
      name         text NOT NULL,
      plan         text NOT NULL REFERENCES quota.plans (plan),
      retention_days integer NOT NULL DEFAULT 0 CHECK (retention_days BETWEEN 0 AND 3650),
      created_at   timestamptz NOT NULL DEFAULT now()
    );

    CREATE TABLE quota.usage (
      workspace_id text NOT NULL,
      month        date NOT NULL,
      used         integer NOT NULL DEFAULT 0 CHECK (used >= 0),
      held         integer NOT NULL DEFAULT 0 CHECK (held >= 0),
      PRIMARY KEY (workspace_id, month)
    );

    CREATE TABLE quota.reservations (
      workspace_id text NOT NULL,
      turn_id      uuid NOT NULL,
      month        date NOT NULL,
      state        text NOT NULL CHECK (state IN ('held', 'done', 'void')),
      reserved_at  timestamptz NOT NULL DEFAULT now(),
      PRIMARY KEY (workspace_id, turn_id)
    );
    CREATE INDEX reservations_held ON quota.reservations (reserved_at) WHERE state = 'held';

    CREATE TABLE quota.ledger (
      workspace_id text NOT NULL,
      month        date NOT NULL,
      turn_id      uuid NOT NULL,
      counted_at   timestamptz NOT NULL DEFAULT now(),
      PRIMARY KEY (workspace_id, month, turn_id)
    );
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TABLE quota.ledger, quota.reservations, quota.usage, quota.workspaces, quota.plans;
  `);
}
