import type { Config } from "../config.ts";
import { CliError } from "../errors.ts";
import type { Result } from "../output/result.ts";
import { type Client, messageOf, withClient } from "./connect.ts";
import { assertServerIsUsable } from "./init.ts";
import {
  createMove,
  dropState,
  type Move,
  onTarget,
  readState,
  STEPS,
  type State,
  type Step,
  saveStep,
} from "./move-state.ts";
import {
  catchUp,
  createCopy,
  detach,
  endFormerSessions,
  fence,
  liftFence,
  migrateCopy,
  onServer,
  subscribe,
  switchNames,
  undo,
  waitForCopy,
  waitForLag,
} from "./move-steps.ts";
import { type RouterSwitch, switchRouters } from "./routers.ts";
import { databaseOf, SCHEMAS, type Server, type Settings, urlOn } from "./settings.ts";
import { formatBytes } from "./status.ts";
import { describeMissing, requireAllServers, type Survey, surveyServers } from "./survey.ts";
import { readUsage, type Usage } from "./usage.ts";

export type MoveDeps = {
  config: Pick<Config, "rolePasswords" | "migrationVariables" | "systemVariables">;
  progress: (line: string) => void;
  routers: RouterSwitch;
  /** How long the fence may last until the copy is up to date. After that, the source accepts connections again. */
  fenceTimeoutMs: number;
};

/** Describes a move without changing anything. Throws if it cannot begin. */
export async function describeMove(settings: Settings, shard: number, to: string): Promise<Result> {
  const { move, state } = await findMove(settings, shard, to);
  if (move === undefined) return describeNothing(databaseOf(settings, shard), to);
  if (state === undefined) await assertCanMove(move);
  const size = state === undefined ? await readSize(move) : null;
  const json = { shard, from: move.source.name, to, size_bytes: size, next_step: nextStep(state?.step ?? null) };
  return {
    json,
    text:
      state === undefined
        ? `${move.live} (${formatBytes(size ?? 0)}) would move from ${move.source.name} to ${to}.\n`
        : `The move of ${move.live} from ${move.source.name} to ${to} would continue: next is "${json.next_step}".\n`,
  };
}

/**
 * Moves a shard to another server, or continues a move that a crash interrupted. The source stays untouched, except for a publication and a
 * replication slot, until the fence.
 */
export async function moveShard(settings: Settings, shard: number, to: string, deps: MoveDeps): Promise<Result> {
  const { configFile, reload, adminUrls } = deps.routers;
  if (configFile === undefined && reload === undefined && adminUrls.length === 0)
    throw new CliError(
      "set --config-file, --reload or PARLEY_ROUTER_ADMIN_URLS: the routers must learn the shard's new server",
    );
  return withLockedMove(settings, shard, to, async (move, state) => {
    if (state === undefined) await assertCanMove(move);
    await runSteps(move, state, deps);
    return onTarget(move, "live", async (client) => {
      const fencedSeconds = (await readState(client))?.fencedSeconds ?? 0;
      const usage = await readUsage(client);
      await dropState(client);
      return reportMove(move, usage, fencedSeconds);
    });
  });
}

/** Undoes a move that has not switched yet. */
export async function cancelMove(settings: Settings, shard: number, to: string): Promise<Result> {
  return withLockedMove(settings, shard, to, async (move, state) => {
    if (state === undefined) throw new CliError(`no move of ${move.live} to ${to} has begun`);
    if (isDone("detached", state.step) && !(await hasDatabase(move.source, move.live)))
      throw new CliError(`${move.live} has already switched to ${to}: run the move again to complete it`);
    await undo(move, state.fencedSeconds !== null);
    return {
      json: { shard, from: move.source.name, to, cancelled: true },
      text: `Cancelled. ${move.live} stays on ${move.source.name}.\n`,
    };
  });
}

type FoundMove = { move: Move | undefined; state: State | undefined };

/** Finds the source, and the state of a move that has begun. `move` is undefined if the shard is on the target already. */
async function findMove(settings: Settings, shard: number, to: string): Promise<FoundMove> {
  const target = settings.servers.find(({ name }) => name === to);
  if (target === undefined)
    throw new CliError(
      `there is no server ${to} in PARLEY_SHARD_SERVERS: ${settings.servers.map(({ name }) => name).join(", ")}`,
    );
  if (shard >= settings.shardCount)
    throw new CliError(`there is no shard ${shard}: DATABASE_SHARDS is ${settings.shardCount}`);
  const survey = await surveyServers(settings);
  requireAllServers(survey);
  const { live, incoming } = createMove(settings, shard, target, target);
  const elsewhere = findServer(survey, incoming, (server) => server !== target);
  if (elsewhere !== undefined)
    throw new CliError(`${live} is moving to ${elsewhere.name}: complete that move, or run it with --cancel`);
  const onTargetNow = [incoming, live].find((name) => findServer(survey, name, (server) => server === target));
  if (onTargetNow !== undefined) {
    const state = await withClient(urlOn(target, onTargetNow), readState);
    const source =
      settings.servers.find(({ name }) => name === state?.source) ??
      findServer(survey, live, (server) => server !== target);
    if (state === undefined && onTargetNow === live) return { move: undefined, state };
    if (source === undefined)
      throw new CliError(`PARLEY_SHARD_SERVERS lacks the server ${state?.source ?? "from which the shard moves"}`);
    // A crash may have left the copy's database without a state.
    return {
      move: createMove(settings, shard, source, target),
      state: state ?? { step: null, source: source.name, fencedSeconds: null },
    };
  }
  const source = findServer(survey, live, () => true);
  if (source === undefined) throw new CliError(describeMissing(live, survey));
  return { move: createMove(settings, shard, source, target), state: undefined };
}

function findServer({ databases }: Survey, database: string, isMeant: (server: Server) => boolean): Server | undefined {
  return databases.find(({ name, server }) => name === database && isMeant(server))?.server;
}

/** Runs `work` while no other process moves this shard. */
async function withLockedMove(
  settings: Settings,
  shard: number,
  to: string,
  work: (move: Move, state: State | undefined) => Promise<Result>,
): Promise<Result> {
  const { move } = await findMove(settings, shard, to);
  if (move === undefined) return describeNothing(databaseOf(settings, shard), to);
  const run = async () => {
    await endFormerSessions(move);
    // Another process may have continued the move before the lock was free.
    const { move: current, state } = await findMove(settings, shard, to);
    return current === undefined ? describeNothing(move.live, to) : work(current, state);
  };
  // A move to a third server has the same source, and a move onwards has this target as its source.
  return withLock(move.source, move.live, () => withLock(move.target, move.live, run));
}

function withLock<T>(server: Server, database: string, work: () => Promise<T>): Promise<T> {
  return onServer(server, async (client) => {
    const { rows } = await client.query<{ isLocked: boolean }>(
      `SELECT pg_try_advisory_lock(hashtext($1)) AS "isLocked"`,
      [`parley.move ${database}`],
    );
    if (!rows[0]?.isLocked) throw new CliError(`another process is moving ${database}`);
    return work();
  });
}

function describeNothing(name: string, to: string): Result {
  return { json: { database: name, to, moved: false }, text: `${name} is on ${to} already.\n` };
}

async function runSteps(move: Move, state: State | undefined, deps: MoveDeps): Promise<void> {
  const done = state?.step ?? null;
  const isOpen = (state?.fencedSeconds ?? null) === null;
  const run: Record<Step, () => Promise<void>> = {
    created: () => createCopy(move),
    migrated: () => migrateCopy(move, deps.config),
    subscribed: () => subscribe(move),
    copied: () => waitForCopy(move, deps.progress),
    fenced: async () => {
      // Visitors wait during the fence. If it has begun, waiting would only make it longer.
      if (isOpen) await waitForLag(move, deps.progress);
      await fence(move);
    },
    "caught up": () => catchUp(move, deps.fenceTimeoutMs),
    detached: () => detach(move),
    switched: () => switchNames(move),
    routed: () => switchRouters(move, deps.routers),
  };
  // The fence may have been lifted since, and it can be repeated. After "caught up", nothing lifts it.
  const last = done === "fenced" ? "copied" : done;
  for (const step of STEPS) {
    if (isDone(step, last)) continue;
    try {
      await run[step]();
    } catch (error) {
      if (step === "fenced" || step === "caught up") await reopen(move, error);
      throw error;
    }
    await saveStep(move, step);
    deps.progress(`${move.live}: ${step}`);
  }
}

/** Until the step "caught up", the source is complete, so visitors need not wait for somebody to run the command again. */
async function reopen(move: Move, error: unknown): Promise<void> {
  try {
    await liftFence(move);
  } catch (failure) {
    throw new CliError(
      `${messageOf(error)}; ${move.live} still refuses connections (${messageOf(failure)}): run this command again, or with --cancel`,
      { cause: error },
    );
  }
}

const isDone = (step: Step, done: Step | null) => done !== null && STEPS.indexOf(step) <= STEPS.indexOf(done);

const nextStep = (done: Step | null): Step | null => STEPS.find((step) => !isDone(step, done)) ?? null;

async function hasDatabase(server: Server, name: string): Promise<boolean> {
  const result = await onServer(server, (client) => client.query("SELECT FROM pg_database WHERE datname = $1", [name]));
  return result.rowCount !== 0;
}

async function readSize({ source, live }: Move): Promise<number> {
  const result = await onServer(source, (client) =>
    client.query<{ size: string }>("SELECT pg_database_size($1) AS size", [live]),
  );
  return Number(result.rows[0]?.size);
}

type ServerFacts = {
  identifier: string;
  isSuperuser: boolean;
  walLevel: string;
  hasFreeSlot: boolean;
  hasAdministrator: boolean;
};

/** Throws the reasons why the move cannot begin. */
async function assertCanMove(move: Move): Promise<void> {
  const { source, target, live, retired, settings } = move;
  const readFacts = (server: Server) =>
    onServer(server, async (client) => {
      await assertServerIsUsable(client, server);
      const { rows } = await client.query<ServerFacts>(
        `SELECT (SELECT system_identifier FROM pg_control_system())::text AS identifier,
                (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AS "isSuperuser",
                current_setting('wal_level') AS "walLevel",
                (SELECT count(*) FROM pg_replication_slots) < current_setting('max_replication_slots')::integer AS "hasFreeSlot",
                EXISTS (SELECT FROM pg_roles WHERE rolname = $1) AS "hasAdministrator"`,
        [settings.administrator.user],
      );
      return rows[0] as ServerFacts;
    });
  const [from, to] = [await readFacts(source), await readFacts(target)];
  const problems = [
    ...[
      { server: source, isSuperuser: from.isSuperuser },
      { server: target, isSuperuser: to.isSuperuser },
    ].flatMap(({ server, isSuperuser }) =>
      isSuperuser ? [] : [`the URL of server ${server.name} is not a superuser's`],
    ),
    from.identifier === to.identifier && `${source.name} and ${target.name} are the same server`,
    from.walLevel !== "logical" &&
      `server ${source.name} has wal_level ${from.walLevel}: set wal_level = logical and restart it`,
    !from.hasFreeSlot && `server ${source.name} has no free replication slot: raise max_replication_slots`,
    !to.hasAdministrator && `server ${target.name} has no role ${settings.administrator.user}: run parley shards init`,
    (await hasDatabase(source, retired)) && `server ${source.name} still has ${retired} of an earlier move: drop it`,
    ...(await withClient(urlOn(source, live), findDatabaseProblems)),
  ].filter((problem) => typeof problem === "string");
  if (problems.length > 0) throw new CliError(problems.join("; "));
}

async function findDatabaseProblems(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ tables: string[]; limit: number }>(
    `SELECT (SELECT coalesce(array_agg(c.oid::regclass::text), '{}') FROM pg_class AS c
             WHERE c.relkind = 'r' AND c.relnamespace = ANY (SELECT oid FROM pg_namespace WHERE nspname = ANY ($1))
               AND c.relname NOT IN ('migrations', 'migrations_lock')
               AND NOT EXISTS (SELECT FROM pg_index WHERE indrelid = c.oid AND indisprimary)) AS tables,
            (SELECT datconnlimit FROM pg_database WHERE datname = current_database()) AS limit`,
    [SCHEMAS],
  );
  const { tables = [], limit = -1 } = rows[0] ?? {};
  return [
    ...(tables.length === 0 ? [] : [`tables without a primary key cannot be replicated: ${tables.join(", ")}`]),
    ...(limit === -1 ? [] : [`the database has CONNECTION LIMIT ${limit}: set it to -1`]),
  ];
}

function reportMove({ shard, source, target, live, retired }: Move, usage: Usage, fencedSeconds: number): Result {
  const seconds = Math.round(fencedSeconds * 10) / 10;
  return {
    json: { shard, from: source.name, to: target.name, fenced_seconds: seconds, usage_differences: usage.differences },
    text: `${live} is on ${target.name}. It was not available for ${seconds} s.
${
  usage.differences === 0
    ? `Usage equals the ledger: ${usage.used} counted messages, ${usage.held} holds.`
    : `Usage differs from the ledger in ${usage.differences} workspace months: run parley usage-audit.`
}
${retired} stays on ${source.name} and refuses connections. Drop it when you have a backup of ${live}.
`,
    exitCode: usage.differences === 0 ? 0 : 1,
  };
}
