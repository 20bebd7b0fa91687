import type { Config } from "../config.ts";
import { CliError } from "../errors.ts";
import type { Result } from "../output/result.ts";
import { findDatabaseProblems } from "./catalog.ts";
import { messageOf, onPlace, onServer } from "./connect.ts";
import { type AssertLocked, endFormerSessions, withLock } from "./lock.ts";
import {
  completeCopy,
  createCopy,
  createMove,
  fenceSource,
  liftFence,
  type Move,
  migrateCopy,
  STATE_SCHEMA,
  STEPS,
  type Step,
  saveMoveStep,
  switchedPlace,
  switchNames,
  undo,
} from "./move-steps.ts";
import { findServerProblems } from "./preconditions.ts";
import { subscribe, unsubscribe, waitForCopy, waitForLag } from "./replication.ts";
import { type RouterSwitch, switchRouters } from "./routers.ts";
import { databaseOf, type Server, type Settings } from "./settings.ts";
import { dropState, readState, runSteps, type State, stepAfter } from "./state.ts";
import { formatBytes } from "./status.ts";
import { describeMissing, requireAllServers, requirePlacements, type Survey, surveyServers } from "./survey.ts";
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
  const json = {
    shard,
    from: move.source.name,
    to,
    size_bytes: size,
    next_step: stepAfter(STEPS, state?.step ?? null),
  };
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
  return withLockedMove(settings, shard, to, async (move, state, assertLocked) => {
    if (state === undefined) await assertCanMove(move);
    await runMove(move, state, deps, assertLocked);
    return onPlace(switchedPlace(move), async (client) => {
      const fencedSeconds = (await readState(client, STATE_SCHEMA))?.fencedSeconds ?? 0;
      const usage = await readUsage(client);
      await dropState(client, STATE_SCHEMA);
      return reportMove(move, usage, fencedSeconds);
    });
  });
}

/** Undoes a move that has not switched yet. */
export async function cancelMove(settings: Settings, shard: number, to: string): Promise<Result> {
  return withLockedMove(settings, shard, to, async (move, state) => {
    if (state === undefined) throw new CliError(`no move of ${move.live} to ${to} has begun`);
    if (isAtLeast(state.step, "detached") && !(await hasDatabase(move.source, move.live)))
      throw new CliError(`${move.live} has already switched to ${to}: run the move again to complete it`);
    await undo(move, state.fencedSeconds !== null);
    return {
      json: { shard, from: move.source.name, to, cancelled: true },
      text: `Cancelled. ${move.live} stays on ${move.source.name}.\n`,
    };
  });
}

type MoveState = State<Step>;
type FoundMove = { move: Move | undefined; state: MoveState | undefined };

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
  const { live, incoming } = createMove(settings, shard, target, target);
  const elsewhere = findServer(survey, incoming, (server) => server !== target);
  if (elsewhere !== undefined)
    throw new CliError(`${live} is moving to ${elsewhere.name}: complete that move, or run it with --cancel`);
  const onTargetNow = [incoming, live].find((name) => findServer(survey, name, (server) => server === target));
  const state =
    onTargetNow === undefined
      ? undefined
      : await onPlace({ server: target, database: onTargetNow }, (client) => readState<Step>(client, STATE_SCHEMA));
  const recorded = settings.servers.find(({ name }) => name === state?.source);
  // The state names both servers of the move, so another server may be away.
  if (state === undefined || recorded === undefined || survey.failures.has(recorded.name)) requireAllServers(survey);
  if (onTargetNow === undefined) {
    const source = findServer(survey, live, () => true);
    if (source === undefined) throw new CliError(describeMissing(live, survey));
    return { move: createMove(settings, shard, source, target), state: undefined };
  }
  if (state === undefined && onTargetNow === live) return { move: undefined, state };
  const source = recorded ?? findServer(survey, live, (server) => server !== target);
  if (source === undefined)
    throw new CliError(`PARLEY_SHARD_SERVERS lacks the server ${state?.source ?? "from which the shard moves"}`);
  // A crash may have left the copy's database without a state.
  return {
    move: createMove(settings, shard, source, target),
    state: state ?? { step: null, source: source.name, placements: [], fencedSeconds: null },
  };
}

function findServer({ databases }: Survey, database: string, isMeant: (server: Server) => boolean): Server | undefined {
  return databases.find(({ name, server }) => name === database && isMeant(server))?.server;
}

/** Runs `work` while no other process moves this shard. */
async function withLockedMove(
  settings: Settings,
  shard: number,
  to: string,
  work: (move: Move, state: MoveState | undefined, assertLocked: AssertLocked) => Promise<Result>,
): Promise<Result> {
  const { move } = await findMove(settings, shard, to);
  if (move === undefined) return describeNothing(databaseOf(settings, shard), to);
  const run = async (assertLocked: AssertLocked) => {
    const { source, target } = move.replication;
    await endFormerSessions([source, target, switchedPlace(move)]);
    // Another process may have continued the move before the lock was free.
    const { move: current, state } = await findMove(settings, shard, to);
    return current === undefined ? describeNothing(move.live, to) : work(current, state, assertLocked);
  };
  // A move to a third server has the same source, and a move onwards has this target as its source.
  return withLock(move.source, move.live, (isSourceLocked) =>
    withLock(move.target, move.live, (isTargetLocked) =>
      run(async () => {
        await isSourceLocked();
        await isTargetLocked();
      }),
    ),
  );
}

function describeNothing(name: string, to: string): Result {
  return { json: { database: name, to, moved: false }, text: `${name} is on ${to} already.\n` };
}

async function runMove(
  move: Move,
  state: MoveState | undefined,
  { config, progress, routers, fenceTimeoutMs }: MoveDeps,
  assertLocked: AssertLocked,
): Promise<void> {
  const { settings, replication } = move;
  const isOpen = (state?.fencedSeconds ?? null) === null;
  const run: Record<Step, () => Promise<void>> = {
    created: async () =>
      createCopy(
        move,
        (await requirePlacements(settings)).map(({ server }) => server.name),
      ),
    migrated: () => migrateCopy(move, config),
    subscribed: () => subscribe(replication),
    copied: () => waitForCopy(replication, progress, assertLocked),
    fenced: async () => {
      // Visitors wait during the fence. If it has begun, waiting would only make it longer.
      if (isOpen) await waitForLag(replication, progress, assertLocked);
      await orReopen(move, () => fenceSource(move));
    },
    "caught up": () => orReopen(move, () => completeCopy(move, fenceTimeoutMs)),
    detached: () => unsubscribe(replication),
    switched: () => switchNames(move),
    routed: () => switchRouters(move, routers),
  };
  // The fence may have been lifted since, and it can be repeated. After "caught up", nothing lifts it.
  const last = state?.step === "fenced" ? "copied" : (state?.step ?? null);
  await runSteps(
    last,
    STEPS.map((step) => ({ step, run: run[step], save: () => saveMoveStep(move, step) })),
    { assertLocked, progress, subject: move.live },
  );
}

/** Until the step "caught up", the source is complete, so visitors need not wait for somebody to run the command again. */
async function orReopen(move: Move, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    await reopen(move, error);
    throw error;
  }
}

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

const isAtLeast = (done: Step | null, step: Step) => done !== null && STEPS.indexOf(done) >= STEPS.indexOf(step);

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

/** Throws the reasons why the move cannot begin. */
async function assertCanMove({ source, target, retired, settings, replication }: Move): Promise<void> {
  const { problems, identifiers } = await findServerProblems(settings, { source, targets: new Map([[target, 1]]) });
  const all = [
    ...problems,
    ...(identifiers.get(source) === identifiers.get(target)
      ? [`${source.name} and ${target.name} are the same server`]
      : []),
    ...((await hasDatabase(source, retired))
      ? [`server ${source.name} still has ${retired} of an earlier move: drop it`]
      : []),
    ...(await onPlace(replication.source, findDatabaseProblems)),
  ];
  if (all.length > 0) throw new CliError(all.join("; "));
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
