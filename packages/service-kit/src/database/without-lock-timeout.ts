import type { Knex } from "knex";

/**
 * Runs `work` without lock_timeout, for statements such as CREATE INDEX CONCURRENTLY: they may wait long for older transactions of the
 * database, but they block no traffic meanwhile.
 */
export async function withoutLockTimeout(knex: Knex, work: () => PromiseLike<unknown>): Promise<void> {
  const { rows } = await knex.raw<{ rows: { lock_timeout: string }[] }>("SHOW lock_timeout");
  await knex.raw("SET lock_timeout = 0");
  await work();
  await knex.raw("SELECT set_config('lock_timeout', ?, false)", [rows[0]?.lock_timeout ?? "0"]);
}
