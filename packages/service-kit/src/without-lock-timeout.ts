import type { Knex } from "knex";

/**
 * Runs `work` without the limit on waiting for locks: what is done concurrently waits for every older transaction of the database,
 * another service's migration among them, and meanwhile keeps nobody waiting.
 */
export async function withoutLockTimeout(knex: Knex, work: () => PromiseLike<unknown>): Promise<void> {
  const { rows } = await knex.raw<{ rows: { lock_timeout: string }[] }>("SHOW lock_timeout");
  await knex.raw("SET lock_timeout = 0");
  await work();
  await knex.raw("SELECT set_config('lock_timeout', ?, false)", [rows[0]?.lock_timeout ?? "0"]);
}
