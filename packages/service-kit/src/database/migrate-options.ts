import type { Knex } from "knex";
import type { RoleTimeouts } from "./service-role.ts";

export type Migration = {
  name: string;
  up: (knex: Knex) => Promise<void>;
  down: (knex: Knex) => Promise<void>;
  /**
   * By default a migration is one transaction. It should lock only one table with traffic, because a second lock could deadlock with the
   * traffic. With `transaction: false`, each statement commits separately, so a retry may run a committed statement again.
   */
  config?: { transaction: boolean };
  /**
   * Set if the migration removes something that older versions use: the oldest version of Parley that runs on the new schema, such as
   * `0.3.0`. The migrate command of older versions then fails.
   */
  oldestVersion?: string;
};

export type MigrateOptions = {
  /** Connects as an administrator, who may create schemas. With `rolePassword`, the administrator must also be allowed to create roles. */
  url: string;
  schema: string;
  /** The service's login role. */
  role: string;
  /** Without a password, the role stays unchanged. It must then exist and have the timeouts that prepareRole requires. */
  rolePassword?: string;
  /**
   * The installation's name, such as `chat/parley`; may be empty. The role is marked with it and with the database, and a role of another
   * installation or database is refused. If undefined, several databases may share the role, and it is neither marked nor checked.
   */
  installation?: string;
  /** Set if `url` leads to a logical shard: its number, and the name of the sharded database, to which the role of all shards belongs. */
  shard?: { number: number; database: string };
  /** Timeouts in addition to those of every service's role. */
  roleTimeouts?: RoleTimeouts;
  /** The names of tables whose rows the role may read and insert, but neither update nor delete. */
  appendOnlyTables?: readonly string[];
  migrations: readonly Migration[];
};
