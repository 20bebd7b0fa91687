import { CliError } from "../errors.ts";
import { MAINTENANCE_DATABASE, messageOf, queryOnce } from "./connect.ts";
import type { Placement } from "./pgdog-config.ts";

export type { Placement };

import { databaseOf, type Server, type Settings, urlOn } from "./settings.ts";

/** A database on a server whose name is the one of a shard, or of a shard that moves there (`parley_3_incoming`) or has left (`parley_3_moved`). */
export type FoundDatabase = { server: Server; name: string };

export type Survey = {
  databases: readonly FoundDatabase[];
  /** Why a server did not respond, by its name. */
  failures: ReadonlyMap<string, string>;
};

const LIST_DATABASES = "SELECT datname::text AS name FROM pg_database WHERE starts_with(datname, $1)";

/** Lists the shards' databases on all servers. The databases themselves record where each shard is; no file does. */
export async function surveyServers({ database, servers }: Settings): Promise<Survey> {
  const failures = new Map<string, string>();
  const found = await Promise.all(
    servers.map(async (server) => {
      try {
        const rows = await queryOnce<Omit<FoundDatabase, "server">>(
          urlOn(server, MAINTENANCE_DATABASE),
          LIST_DATABASES,
          [`${database}_`],
        );
        return rows.map((row) => ({ ...row, server }));
      } catch (error) {
        failures.set(server.name, messageOf(error));
        return [];
      }
    }),
  );
  return { databases: found.flat(), failures };
}

/** Throws unless all servers responded: a shard on a server that did not respond would seem to be missing. */
export function requireAllServers({ failures }: Survey): void {
  const [first] = failures;
  if (first !== undefined) throw new CliError(`server ${first[0]} is not available: ${first[1]}`);
}

/** Returns the server of each shard that exists. Throws if two servers have a database with a shard's name. */
export function locateShards(settings: Settings, { databases }: Survey): Map<number, FoundDatabase> {
  const located = new Map<number, FoundDatabase>();
  for (let shard = 0; shard < settings.shardCount; shard++) {
    const [found, other] = databases.filter(({ name }) => name === databaseOf(settings, shard));
    if (found !== undefined && other !== undefined)
      throw new CliError(
        `${found.name} is on ${found.server.name} and on ${other.server.name}: rename or drop the one that the router does not use`,
      );
    if (found !== undefined) located.set(shard, found);
  }
  return located;
}

/** Returns the database that a shard has while a move switches it: the copy, or the source's database under its new name. */
export function findSwitching(name: string, { databases }: Survey): FoundDatabase | undefined {
  return databases.find((each) => each.name === `${name}_incoming` || each.name === `${name}_moved`);
}

/** Describes why no server has a shard's database. */
export function describeMissing(name: string, survey: Survey): string {
  const [failure] = [...survey.failures].map(([server, reason]) => `server ${server}: ${reason}`);
  if (failure !== undefined) return `${name} not found; ${failure}`;
  const switching = findSwitching(name, survey);
  if (switching === undefined) return `no server has ${name}: run parley shards init`;
  return `no server has ${name}, but ${switching.server.name} has ${switching.name}: complete the move`;
}

/**
 * Returns the server of every shard. Throws if a shard is missing. If a server does not respond, throws too, unless `recorded` names it as the server
 * of each missing shard: the names of the shards' servers at an earlier time, in the order of the shards.
 */
export async function requirePlacements(settings: Settings, recorded: readonly string[] = []): Promise<Placement[]> {
  const survey = await surveyServers(settings);
  const located = locateShards(settings, survey);
  const isKnown = (shard: number) => located.has(shard) || survey.failures.has(recorded[shard] ?? "");
  if (!listShards(settings).every(isKnown)) requireAllServers(survey);
  return listShards(settings).map((shard) => {
    const server =
      located.get(shard)?.server ??
      settings.servers.find(({ name }) => name === recorded[shard] && survey.failures.has(name));
    if (server === undefined) throw new CliError(describeMissing(databaseOf(settings, shard), survey));
    return { shard, server };
  });
}

/** Returns the numbers of all shards. */
export const listShards = ({ shardCount }: Pick<Settings, "shardCount">) =>
  Array.from({ length: shardCount }, (_, shard) => shard);
