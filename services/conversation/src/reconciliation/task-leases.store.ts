import type { Database } from "@parley/service-kit";

/** The progress of a task. Each task defines the keys. */
export type Progress = Record<string, string>;

export type Lease = {
  task: string;
  /** A random id of the replica's process. */
  holder: string;
  /** The time after which another replica may take the lease, unless the holder renews it. */
  leaseSeconds: number;
};

/** The lease of a task that runs periodically. */
export type TaskLease = Lease & {
  /** The pause after a run, before any replica starts the next one. */
  everySeconds: number;
};

/**
 * Returns a SQL condition: due_at is more than `seconds` plus a minute in the future. During a run, due_at is the end of the lease; after the
 * run, the end of the pause. Neither the lease nor the pause is longer than `seconds`, so such a due_at means that the database's clock was set
 * back. The minute allows for a claim that waited for another claim's lock: the now() of the waiting
 * claim is the time before the wait.
 */
const isTooFarAheadSql = (seconds: string) =>
  `l.due_at > now() + make_interval(secs => ${seconds}) + interval '1 minute'`;

const CLAIM = `
  INSERT INTO conversation.task_leases AS l (task, holder, due_at)
  VALUES ($1, $2, now() + make_interval(secs => $3))
  ON CONFLICT (task) DO UPDATE SET holder = excluded.holder, due_at = excluded.due_at
    WHERE l.due_at <= now() OR ${isTooFarAheadSql("$4")}
  RETURNING l.progress, now() AS now`;

/** A task's progress, and the database's time at the start of the run. */
export type ClaimedTask = { progress: Progress; now: Date };

/** Starts a run of a task. Returns undefined if the task is not due or another replica runs it. */
export async function claimTask(
  database: Database,
  { task, holder, leaseSeconds, everySeconds }: TaskLease,
): Promise<ClaimedTask | undefined> {
  const longestSeconds = Math.max(leaseSeconds, everySeconds);
  const { rows } = await database.query<ClaimedTask>(CLAIM, [task, holder, leaseSeconds, longestSeconds]);
  return rows[0];
}

/**
 * Runs a task if it is due and no other replica runs it. `run` must end with finishTask, which starts the pause. If `run` fails, any replica may
 * try again immediately. When the signal is aborted, `run` should throw the signal's reason, which runIfDue does not rethrow.
 */
export async function runIfDue(
  database: Database,
  lease: TaskLease,
  signal: AbortSignal,
  run: (claimed: ClaimedTask) => Promise<void>,
): Promise<void> {
  const claimed = await claimTask(database, lease);
  if (claimed === undefined) return;
  try {
    await run(claimed);
  } catch (error) {
    // If the release fails too, the lease expires.
    await releaseLease(database, lease).catch(() => undefined);
    if (!signal.aborted || error !== signal.reason) throw error;
  }
}

/** Saves the progress of a run and renews its lease. Returns false if another replica has taken over the task. */
export async function saveProgress(
  database: Database,
  { task, holder, leaseSeconds }: TaskLease,
  progress: Progress,
): Promise<boolean> {
  const { rowCount } = await database.query(
    `UPDATE conversation.task_leases SET progress = $4, due_at = now() + make_interval(secs => $3)
     WHERE task = $1 AND holder = $2`,
    [task, holder, leaseSeconds, JSON.stringify(progress)],
  );
  return rowCount === 1;
}

/** Records the success of a run. The next one is due after the task's pause. */
export async function finishTask(database: Database, { task, holder, everySeconds }: TaskLease): Promise<void> {
  await database.query(
    `UPDATE conversation.task_leases SET succeeded_at = now(), due_at = now() + make_interval(secs => $3)
     WHERE task = $1 AND holder = $2`,
    [task, holder, everySeconds],
  );
}

const HOLD = `
  INSERT INTO conversation.task_leases AS l (task, holder, due_at)
  VALUES ($1, $2, now() + make_interval(secs => $3))
  ON CONFLICT (task) DO UPDATE SET holder = excluded.holder, due_at = excluded.due_at
    WHERE l.holder = excluded.holder OR l.due_at <= now() OR ${isTooFarAheadSql("$3")}`;

/** Takes or renews the lease of a task that one replica runs for as long as it can. Returns false if another replica has the lease. */
export async function holdLease(database: Database, { task, holder, leaseSeconds }: Lease): Promise<boolean> {
  const { rowCount } = await database.query({ name: "hold_lease", text: HOLD, values: [task, holder, leaseSeconds] });
  return rowCount === 1;
}

/** Ends a lease that holdLease or claimTask took, so that any replica can take it immediately. */
export async function releaseLease(database: Database, { task, holder }: Lease): Promise<void> {
  await database.query("UPDATE conversation.task_leases SET due_at = now() WHERE task = $1 AND holder = $2", [
    task,
    holder,
  ]);
}

/** Returns a task's progress, the time of its last success and the database's time; undefined if the task never ran. */
export async function readTask(
  database: Database,
  task: string,
): Promise<{ progress: Progress; succeededAt: Date | null; now: Date } | undefined> {
  const { rows } = await database.query<{ progress: Progress; succeededAt: Date | null; now: Date }>(
    `SELECT progress, succeeded_at AS "succeededAt", now() AS now FROM conversation.task_leases WHERE task = $1`,
    [task],
  );
  return rows[0];
}
