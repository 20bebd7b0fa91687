import { type Client, onPlace, type Place } from "./connect.ts";

/** The schema that has the state of a move or an adoption, so that any machine can resume it. */
export type StateSchema = "parley_move" | "parley_adopt";

/** SQL that returns whether the current database has the state. Needs no privilege on the schema. */
export const hasState = (schema: StateSchema) => `EXISTS (SELECT FROM pg_namespace WHERE nspname = '${schema}')`;

export type State<Step extends string> = {
  /** The last completed step; null before the first. */
  step: Step | null;
  /** The name of the source server. */
  source: string;
  /** The servers of all shards when the work began, in the order of the shards. */
  placements: readonly string[];
  /** For how long the source has not accepted connections; null if it accepts them. */
  fencedSeconds: number | null;
};

/** Returns the state that a database has; undefined if it has none. */
export async function readState<Step extends string>(
  client: Client,
  schema: StateSchema,
): Promise<State<Step> | undefined> {
  const { rows: found } = await client.query<{ exists: boolean }>(`SELECT ${hasState(schema)} AS exists`);
  if (!found[0]?.exists) return undefined;
  const { rows } = await client.query<State<Step>>(
    `SELECT step, source, placements, extract(epoch FROM clock_timestamp() - fenced_at)::float8 AS "fencedSeconds" FROM ${schema}.state`,
  );
  return rows[0];
}

/** Creates the state unless it exists. */
export async function createState(
  client: Client,
  schema: StateSchema,
  { source, placements }: Pick<State<string>, "source" | "placements">,
): Promise<void> {
  if ((await readState(client, schema)) !== undefined) return;
  await client.query("BEGIN");
  await client.query(`CREATE SCHEMA ${schema}`);
  await client.query(
    `CREATE TABLE ${schema}.state (step text, source text NOT NULL, placements text[] NOT NULL, fenced_at timestamptz)`,
  );
  await client.query(`INSERT INTO ${schema}.state (source, placements) VALUES ($1, $2)`, [source, placements]);
  await client.query("COMMIT");
}

export async function dropState(client: Client, schema: StateSchema): Promise<void> {
  await client.query(`DROP SCHEMA ${schema} CASCADE`);
}

export async function saveStep(place: Place, schema: StateSchema, step: string): Promise<void> {
  await onPlace(place, (client) => client.query(`UPDATE ${schema}.state SET step = $1`, [step]));
}

/** Records that the fence begins, or that it has been lifted and the replication goes on. */
export async function saveFence(place: Place, schema: StateSchema, isFenced: boolean): Promise<void> {
  const change = isFenced ? "fenced_at = coalesce(fenced_at, now())" : "fenced_at = NULL, step = 'copied'";
  await onPlace(place, (client) => client.query(`UPDATE ${schema}.state SET ${change}`));
}

/** Runs the steps that are missing, in order. Records each, and reports it with `subject`. */
export async function runSteps<Step extends string>(
  done: Step | null,
  steps: readonly { step: Step; run: () => Promise<void>; save: () => Promise<void> }[],
  {
    assertLocked,
    progress,
    subject,
  }: { assertLocked: () => Promise<void>; progress: (line: string) => void; subject: string },
): Promise<void> {
  const first = steps.findIndex(({ step }) => step === done) + 1;
  for (const { step, run, save } of steps.slice(first)) {
    await assertLocked();
    await run();
    await assertLocked();
    await save();
    progress(`${subject}: ${step}`);
  }
}

/** Returns the step after `done`; null after the last. */
export const stepAfter = <Step extends string>(steps: readonly Step[], done: Step | null): Step | null =>
  steps[done === null ? 0 : steps.indexOf(done) + 1] ?? null;
