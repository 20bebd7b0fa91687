import { createScramVerifier } from "@parley/service-kit/migrations";
import pg from "pg";
import { CliError } from "../errors.ts";
import type { Result } from "../output/result.ts";
import { type Client, onServer, withClient } from "./connect.ts";
import { type PlannedShard, placeShards } from "./plan.ts";
import { databaseOf, type Server, type Settings, urlOn } from "./settings.ts";
import { describeMissing, findSwitching, locateShards, requireAllServers, surveyServers } from "./survey.ts";

const OLDEST_POSTGRES = 150_000;

/** Returns where each shard is, or will be. Throws unless all servers respond. */
export async function planShards(settings: Settings): Promise<PlannedShard[]> {
  const survey = await surveyServers(settings);
  requireAllServers(survey);
  const located = locateShards(settings, survey);
  for (let shard = 0; shard < settings.shardCount; shard++) {
    const name = databaseOf(settings, shard);
    // An empty database would take the name that the copy of a move gets.
    if (!located.has(shard) && findSwitching(name, survey) !== undefined)
      throw new CliError(describeMissing(name, survey));
  }
  const existing = new Map([...located].map(([shard, { server }]) => [shard, server.name]));
  return placeShards({ ...settings, servers: settings.servers.map(({ name }) => name) }, existing);
}

/**
 * Creates the administrator on each server, and the shards' databases with their numbers. Leaves alone what exists, so it can run again. The
 * migrations create the services' roles and the schemas.
 */
export async function initShards(
  settings: Settings,
  { extensions, progress }: { extensions: readonly string[]; progress: (line: string) => void },
): Promise<Result> {
  const plan = await planShards(settings);
  const created: string[] = [];
  const note = (line: string) => {
    created.push(line);
    progress(line);
  };
  for (const server of settings.servers) {
    await onServer(server, async (client) => {
      await assertServerIsUsable(client, server);
      if (await createAdministrator(client, settings))
        note(`created role ${settings.administrator.user} on ${server.name}`);
      for (const { shard } of plan.filter((each) => each.server === server.name)) {
        if (await createDatabase(client, settings, shard))
          note(`created ${databaseOf(settings, shard)} on ${server.name}`);
        if (extensions.length > 0)
          await withClient(urlOn(server, databaseOf(settings, shard)), (inDatabase) =>
            createExtensions(inDatabase, extensions),
          );
      }
    });
  }
  const text = created.length === 0 ? "Everything exists.\n" : created.map((line) => `${line}\n`).join("");
  return {
    json: { created },
    text: `${text}Next: start the router with parley shards config, then run parley migrate and parley shards check.\n`,
  };
}

export async function assertServerIsUsable(client: Client, { name }: Server): Promise<void> {
  const { rows } = await client.query<{ version: number; isStandby: boolean }>(
    `SELECT current_setting('server_version_num')::integer AS version, pg_is_in_recovery() AS "isStandby"`,
  );
  const { version = 0, isStandby = true } = rows[0] ?? {};
  if (version < OLDEST_POSTGRES) throw new CliError(`server ${name} is older than PostgreSQL 15`);
  if (isStandby) throw new CliError(`server ${name} is a standby: name the primary in PARLEY_SHARD_SERVERS`);
}

/** Returns whether the role had to be created. The server receives a verifier instead of the password. */
async function createAdministrator(client: Client, settings: Settings): Promise<boolean> {
  const { user, password } = settings.administrator;
  const role = pg.escapeIdentifier(user);
  if ((await client.query("SELECT FROM pg_roles WHERE rolname = $1", [user])).rowCount !== 0) return false;
  if (password === "") throw new CliError("DATABASE_URL has no password for the administrator");
  await client.query(
    `CREATE ROLE ${role} LOGIN CREATEROLE PASSWORD ${pg.escapeLiteral(createScramVerifier(password))}`,
  );
  await grantMembership(client, role);
  return true;
}

/** A role that is no superuser may create a database only for a role of which it is a member. */
async function grantMembership(client: Client, role: string): Promise<void> {
  const { rowCount } = await client.query("SELECT FROM pg_roles WHERE rolname = current_user AND NOT rolsuper");
  if (rowCount !== 0) await client.query(`GRANT ${role} TO CURRENT_USER`);
}

/** Creates a shard's database unless it exists, and gives it its number. Returns whether it had to create it. */
async function createDatabase(client: Client, settings: Settings, shard: number): Promise<boolean> {
  const name = databaseOf(settings, shard);
  const { rowCount } = await client.query("SELECT FROM pg_database WHERE datname = $1", [name]);
  if (rowCount === 0) {
    const owner = pg.escapeIdentifier(settings.administrator.user);
    await client.query(
      `CREATE DATABASE ${pg.escapeIdentifier(name)} OWNER ${owner} TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'en-US'`,
    );
  }
  await numberDatabase(client, name, shard);
  return rowCount === 0;
}

/** Sets parley.shard of a database. Throws if the database has another number. */
export async function numberDatabase(client: Client, name: string, shard: number): Promise<void> {
  const { rows } = await client.query<{ stored: string }>(
    `SELECT split_part(setting, '=', 2) AS stored FROM pg_db_role_setting, unnest(setconfig) AS setting
     WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = $1) AND setrole = 0 AND starts_with(setting, 'parley.shard=')`,
    [name],
  );
  const stored = rows[0]?.stored;
  if (stored === String(shard)) return;
  if (stored !== undefined) throw new CliError(`database ${name} has parley.shard ${stored}, not ${shard}`);
  await client.query(`ALTER DATABASE ${pg.escapeIdentifier(name)} SET parley.shard = '${shard}'`);
}

export async function createExtensions(client: Client, extensions: readonly string[]): Promise<void> {
  for (const extension of extensions)
    await client.query(`CREATE EXTENSION IF NOT EXISTS ${pg.escapeIdentifier(extension)}`);
}
