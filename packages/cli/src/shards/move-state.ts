import { type Client, withClient } from "./connect.ts";
import { databaseOf, type Server, type Settings, urlOn } from "./settings.ts";

/** The completed steps of a move, in order. */
export const STEPS = [
  "created",
  "migrated",
  "subscribed",
  "copied",
  "fenced",
  "caught up",
  "detached",
  "switched",
  "routed",
] as const;
export type Step = (typeof STEPS)[number];

/** A shard that moves from one server to another. */
export type Move = {
  settings: Settings;
  shard: number;
  source: Server;
  target: Server;
  /** The database that the router uses: on the source until the step "switched", and then on the target. */
  live: string;
  /** Its copy on the target before that step. */
  incoming: string;
  /** The database on the source after that step. */
  retired: string;
  /** The name of the publication, the subscription and the replication slot. */
  replication: string;
};

export function createMove(settings: Settings, shard: number, source: Server, target: Server): Move {
  const live = databaseOf(settings, shard);
  return {
    settings,
    shard,
    source,
    target,
    live,
    incoming: `${live}_incoming`,
    retired: `${live}_moved`,
    // The name of a slot has only lower-case letters, digits and underscores.
    replication: `${live.toLowerCase().replace(/[^a-z0-9_]/g, "_")}_move`,
  };
}

/** The schema in the target's database that has the move's state, so that any machine can resume the move. */
const SCHEMA = "parley_move";
/** SQL that returns whether the current database has the state. Needs no privilege on the schema. */
export const HAS_STATE = `EXISTS (SELECT FROM pg_namespace WHERE nspname = '${SCHEMA}')`;

export type State = {
  /** The last completed step; null before the first. */
  step: Step | null;
  /** The name of the source server. */
  source: string;
  /** For how long the shard has not accepted connections; null if it accepts them. */
  fencedSeconds: number | null;
};

/** Returns the state that a database has; undefined if it has none. */
export async function readState(client: Client): Promise<State | undefined> {
  const { rows: found } = await client.query<{ exists: boolean }>(`SELECT ${HAS_STATE} AS exists`);
  if (!found[0]?.exists) return undefined;
  const { rows } = await client.query<State>(
    `SELECT step, source, extract(epoch FROM clock_timestamp() - fenced_at)::float8 AS "fencedSeconds" FROM ${SCHEMA}.state`,
  );
  return rows[0];
}

/** Creates the state unless it exists. */
export async function createState(client: Client, source: string): Promise<void> {
  if ((await readState(client)) !== undefined) return;
  await client.query("BEGIN");
  await client.query(`CREATE SCHEMA ${SCHEMA}`);
  await client.query(`CREATE TABLE ${SCHEMA}.state (step text, source text NOT NULL, fenced_at timestamptz)`);
  await client.query(`INSERT INTO ${SCHEMA}.state (source) VALUES ($1)`, [source]);
  await client.query("COMMIT");
}

export async function dropState(client: Client): Promise<void> {
  await client.query(`DROP SCHEMA ${SCHEMA} CASCADE`);
}

/** Opens the target's database, whose name changes with the step "switched". */
export function onTarget<T>(
  { target, incoming, live }: Move,
  database: "incoming" | "live",
  work: (client: Client) => Promise<T>,
): Promise<T> {
  return withClient(urlOn(target, database === "incoming" ? incoming : live), work);
}

export async function saveStep(move: Move, step: Step): Promise<void> {
  const isSwitched = STEPS.indexOf(step) >= STEPS.indexOf("switched");
  await onTarget(move, isSwitched ? "live" : "incoming", (client) =>
    client.query(`UPDATE ${SCHEMA}.state SET step = $1`, [step]),
  );
}

/** Records that the fence begins, or that it has been lifted and the replication goes on. */
export async function saveFence(move: Move, isFenced: boolean): Promise<void> {
  const change = isFenced ? "fenced_at = coalesce(fenced_at, now())" : "fenced_at = NULL, step = 'copied'";
  await onTarget(move, "incoming", (client) => client.query(`UPDATE ${SCHEMA}.state SET ${change}`));
}
