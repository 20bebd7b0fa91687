import { type Database, NIL_UUID } from "@parley/service-kit";

/** The progress of a task. Each task defines the keys. */
export type Progress = Record<string, string>;

export type Lease = {
  task: string;
  /** A random id of the replica's process. */
  holder: string;
  /** The time after which another replica may take the lease, unless the holder renews it. */
  leaseSeconds: number;
};

/** A task's progress, and the database's time at the start of the run. */
export type ClaimedTask = { progress: Progress; now: Date };

// During a run, due_at is the end of the lease; after the run, the end of the pause. Neither is longer than $4, so a due_at that is further ahead
// means that the database's clock was set back. The minute allows for a claim that waited for another claim's lock: the now() of the waiting claim
// is the time before the wait.
const CLAIM = `
  INSERT INTO conversation.task_leases AS l (task, holder, due_at)
  VALUES ($1, $2, now() + make_interval(secs => $3))
  ON CONFLICT (task) DO UPDATE SET holder = excluded.holder, due_at = excluded.due_at
    WHERE l.holder = excluded.holder OR l.due_at <= now()
          OR l.due_at > now() + make_interval(secs => $4) + interval '1 minute'
  RETURNING l.progress, now() AS now`;

/**
 * Takes or renews a lease. Returns undefined if another replica has the lease, or if the pause after a run is not over.
 * @param everySeconds the pause after a run; 0 for a task that one replica runs for as long as it can
 */
export async function claimLease(
  database: Database,
  { task, holder, leaseSeconds }: Lease,
  everySeconds: number,
): Promise<ClaimedTask | undefined> {
  const values = [task, holder, leaseSeconds, Math.max(leaseSeconds, everySeconds)];
  const { rows } = await database.query<ClaimedTask>({ name: "claim_lease", text: CLAIM, values });
  return rows[0];
}

/** Saves the progress of a run and renews its lease. Returns false if another replica has taken over the task. */
export async function saveProgress(
  database: Database,
  { task, holder, leaseSeconds }: Lease,
  progress: Progress,
): Promise<boolean> {
  const { rowCount } = await database.query(
    `UPDATE conversation.task_leases SET progress = $4, due_at = now() + make_interval(secs => $3)
     WHERE task = $1 AND holder = $2`,
    [task, holder, leaseSeconds, JSON.stringify(progress)],
  );
  return rowCount === 1;
}

/** Records the success of a run. No replica can claim the task during the pause of `everySeconds`. */
export async function finishTask(database: Database, { task, holder }: Lease, everySeconds: number): Promise<void> {
  await database.query(
    `UPDATE conversation.task_leases SET succeeded_at = now(), due_at = now() + make_interval(secs => $3), holder = $4
     WHERE task = $1 AND holder = $2`,
    [task, holder, everySeconds, NIL_UUID],
  );
}

/** Ends a lease, so that any replica can take it immediately. */
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
): Promise<(ClaimedTask & { succeededAt: Date | null }) | undefined> {
  const { rows } = await database.query<ClaimedTask & { succeededAt: Date | null }>(
    `SELECT progress, succeeded_at AS "succeededAt", now() AS now FROM conversation.task_leases WHERE task = $1`,
    [task],
  );
  return rows[0];
}
