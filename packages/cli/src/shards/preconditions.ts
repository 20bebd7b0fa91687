import { type Client, onServer } from "./connect.ts";
import { assertServerIsUsable } from "./init.ts";
import type { Server, Settings } from "./settings.ts";

type ServerFacts = {
  identifier: string;
  isSuperuser: boolean;
  walLevel: string;
  hasAdministrator: boolean;
  freeSlots: number;
  freeSenders: number;
  /** Workers that apply changes or copy a table. */
  freeWorkers: number;
  /** How many tables a subscription copies at once. */
  tablesAtOnce: number;
};

const READ_FACTS = `
  SELECT (SELECT system_identifier FROM pg_control_system())::text AS identifier,
         (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AS "isSuperuser",
         current_setting('wal_level') AS "walLevel",
         EXISTS (SELECT FROM pg_roles WHERE rolname = $1) AS "hasAdministrator",
         current_setting('max_replication_slots')::integer - (SELECT count(*) FROM pg_replication_slots)::integer AS "freeSlots",
         current_setting('max_wal_senders')::integer - (SELECT count(*) FROM pg_stat_replication)::integer AS "freeSenders",
         least(current_setting('max_logical_replication_workers')::integer, current_setting('max_worker_processes')::integer)
           - (SELECT count(*) FROM pg_stat_subscription WHERE pid IS NOT NULL)::integer AS "freeWorkers",
         current_setting('max_sync_workers_per_subscription')::integer AS "tablesAtOnce"`;

const readFacts = (server: Server, settings: Settings): Promise<ServerFacts> =>
  onServer(server, async (client: Client) => {
    await assertServerIsUsable(client, server);
    const { rows } = await client.query<ServerFacts>(READ_FACTS, [settings.administrator.user]);
    return rows[0] as ServerFacts;
  });

/** Copies of databases of `source`: how many to each server. */
export type PlannedCopies = { source: Server; targets: ReadonlyMap<Server, number> };

export type ServerProblems = { problems: string[]; identifiers: ReadonlyMap<Server, string> };

/** Returns why the servers cannot run the replication. A copy needs a slot, a WAL sender and a worker for its changes and for each table that it copies. */
export async function findServerProblems(
  settings: Settings,
  { source, targets }: PlannedCopies,
): Promise<ServerProblems> {
  const from = await readFacts(source, settings);
  const facts = await Promise.all(
    [...targets].map(async ([server, copies]) => ({ server, copies, ...(await readFacts(server, settings)) })),
  );
  const needed = facts.reduce((sum, { copies, tablesAtOnce }) => sum + copies * (1 + tablesAtOnce), 0);
  const problems = [
    !from.isSuperuser && `the URL of server ${source.name} is not a superuser's`,
    from.walLevel !== "logical" &&
      `server ${source.name} has wal_level ${from.walLevel}: set wal_level = logical and restart it`,
    from.freeSlots < needed &&
      `server ${source.name} has ${from.freeSlots} free replication slots, and ${needed} are needed: raise max_replication_slots`,
    from.freeSenders < needed &&
      `server ${source.name} has ${from.freeSenders} free WAL senders, and ${needed} are needed: raise max_wal_senders`,
    ...facts.flatMap(({ server, copies, freeWorkers, isSuperuser, hasAdministrator }) => [
      server !== source && !isSuperuser && `the URL of server ${server.name} is not a superuser's`,
      !hasAdministrator && `server ${server.name} has no role ${settings.administrator.user}: run parley shards init`,
      // One more, so that at least one table can be copied.
      freeWorkers < copies + 1 &&
        `server ${server.name} has ${freeWorkers} free replication workers, and ${copies + 1} are needed: raise max_logical_replication_workers and max_worker_processes`,
    ]),
  ].filter((problem) => typeof problem === "string");
  const identifiers = new Map([
    [source, from.identifier] as const,
    ...facts.map((each) => [each.server, each.identifier] as const),
  ]);
  return { problems, identifiers };
}
