import { CliError } from "../errors.ts";
import type { Result } from "../output/result.ts";
import {
  type Adoption,
  assertRouterAgrees,
  completeCopies,
  createAdoption,
  fenceAll,
  findAdoptionProblems,
  liftFence,
  STATE_SCHEMA,
  STEPS,
  type Step,
  subscribeAll,
  undo,
  unsubscribeAll,
} from "./adopt-steps.ts";
import { assertRolesKeepAccess, assertSchemasAreEqual, findDatabaseProblems } from "./catalog.ts";
import { connect, messageOf, onPlace, onServer } from "./connect.ts";
import { renameFenced } from "./fence.ts";
import { type AssertLocked, endFormerSessions, withLock } from "./lock.ts";
import { findServerProblems } from "./preconditions.ts";
import { waitForCopy, waitForLag } from "./replication.ts";
import { runCommand } from "./routers.ts";
import { routerUrlFor, type Server, type Settings } from "./settings.ts";
import { dropState, readState, runSteps, type State, saveStep, stepAfter } from "./state.ts";
import { formatBytes } from "./status.ts";
import { requirePlacements } from "./survey.ts";
import { readUsage, type Usage } from "./usage.ts";

export type AdoptDeps = {
  quotaPassword: string | undefined;
  systemVariables: Readonly<Record<string, string>>;
  progress: (line: string) => void;
  /** A shell command that makes the services use the router. */
  reload: string | undefined;
  /** How long the fence may last until the shards are up to date. After that, the single database accepts connections again. */
  fenceTimeoutMs: number;
};

type AdoptState = State<Step>;
type Found = { adoption: Adoption; state: AdoptState | undefined; isDone: boolean };

/** Describes an adoption without changing anything. Throws if it cannot begin. */
export async function describeAdoption(settings: Settings, from: string, deps: AdoptDeps): Promise<Result> {
  const { adoption, state, isDone } = await findAdoption(settings, from);
  const { source, retired } = adoption;
  if (isDone) return describeDone(adoption);
  if (state !== undefined) {
    const next = stepAfter(STEPS, state.step);
    return {
      json: { database: source.database, from, next_step: next },
      text: `The adoption of ${source.database} on ${from} would continue: next is "${next}".\n`,
    };
  }
  await assertCanAdopt(adoption, deps.quotaPassword);
  const { rows } = await onPlace(source, (client) =>
    client.query<{ size: string }>("SELECT pg_database_size(current_database()) AS size"),
  );
  const size = Number(rows[0]?.size);
  return {
    json: { database: source.database, from, shards: settings.shardCount, size_bytes: size, next_step: STEPS[0] },
    text: `${source.database} on ${from} (${formatBytes(size)}) would become ${settings.shardCount} shards, and be named ${retired}.\n`,
  };
}

/** Makes shards of the single database, or continues after a crash. The single database stays untouched until the fence. */
export async function adoptDatabase(settings: Settings, from: string, deps: AdoptDeps): Promise<Result> {
  return withLockedAdoption(settings, from, async ({ adoption, state, isDone }, assertLocked) => {
    if (isDone) return describeDone(adoption);
    if (state === undefined) await assertCanAdopt(adoption, deps.quotaPassword);
    await runAdoption(adoption, state, deps, assertLocked);
    return report(adoption);
  });
}

/** Undoes an adoption that has not switched yet. */
export async function cancelAdoption(settings: Settings, from: string): Promise<Result> {
  return withLockedAdoption(settings, from, async ({ adoption, state, isDone }) => {
    const { database } = adoption.source;
    if (isDone || state === undefined) throw new CliError(`no adoption of ${database} has begun`);
    if (!(await hasDatabase(adoption.source.server, database)))
      throw new CliError(`${database} has already switched: run the command again to complete it`);
    await undo(adoption, state.fencedSeconds !== null);
    return {
      json: { database, from, cancelled: true },
      text: `Cancelled. ${database} stays on ${from}, and the shards are empty.\n`,
    };
  });
}

async function findAdoption(settings: Settings, from: string): Promise<Found> {
  const server = settings.servers.find(({ name }) => name === from);
  if (server === undefined)
    throw new CliError(
      `there is no server ${from} in PARLEY_SHARD_SERVERS: ${settings.servers.map(({ name }) => name).join(", ")}`,
    );
  const adoption = createAdoption(settings, server, await requirePlacements(settings));
  const state = await onPlace(adoption.statePlace, (client) => readState<Step>(client, STATE_SCHEMA));
  if (state !== undefined && state.source !== from)
    throw new CliError(
      `the adoption of ${settings.database} from server ${state.source} has begun: run it with --from ${state.source}`,
    );
  const isThere = await hasDatabase(server, settings.database);
  const isRetired = await hasDatabase(server, adoption.retired);
  if (state === undefined && isRetired && isThere)
    throw new CliError(`server ${from} still has ${adoption.retired} of an earlier adoption: drop it`);
  if (state === undefined && !isRetired && !isThere)
    throw new CliError(`server ${from} has no database ${settings.database}`);
  return { adoption, state, isDone: state === undefined && isRetired };
}

async function hasDatabase(server: Server, name: string): Promise<boolean> {
  const { rowCount } = await onServer(server, (client) =>
    client.query("SELECT FROM pg_database WHERE datname = $1", [name]),
  );
  return rowCount !== 0;
}

/** Runs `work` while no other process adopts the database or moves one of the shards. */
async function withLockedAdoption(
  settings: Settings,
  from: string,
  work: (found: Found, assertLocked: AssertLocked) => Promise<Result>,
): Promise<Result> {
  const { adoption } = await findAdoption(settings, from);
  const places = [adoption.source, ...adoption.replications.map(({ target }) => target)];
  const asserts: AssertLocked[] = [];
  const run = async () => {
    await endFormerSessions(places);
    // Another process may have continued before the lock was free.
    return work(await findAdoption(settings, from), async () => {
      for (const assertLocked of asserts) await assertLocked();
    });
  };
  const lockAll = places.reduceRight<() => Promise<Result>>(
    (next, { server, database }) =>
      () =>
        withLock(server, database, (assertLocked) => {
          asserts.push(assertLocked);
          return next();
        }),
    run,
  );
  return lockAll();
}

async function runAdoption(
  adoption: Adoption,
  state: AdoptState | undefined,
  { progress, reload, quotaPassword, systemVariables, fenceTimeoutMs }: AdoptDeps,
  assertLocked: AssertLocked,
): Promise<void> {
  const { settings, source, retired, replications, statePlace } = adoption;
  const isOpen = (state?.fencedSeconds ?? null) === null;
  const known = new Set<string>();
  const askRouter = () => withRouter(settings, quotaPassword, (router) => assertRouterAgrees(adoption, router, known));
  const run: Record<Step, () => Promise<void>> = {
    subscribed: () => subscribeAll(adoption),
    copied: async () => {
      for (const replication of replications) await waitForCopy(replication, progress, assertLocked);
    },
    fenced: async () => {
      // Visitors wait during the fence. If it has begun, waiting would only make it longer.
      if (isOpen) {
        await askRouter();
        for (const replication of replications) await waitForLag(replication, progress, assertLocked);
      }
      await orReopen(adoption, () => fenceAll(adoption));
    },
    "caught up": () =>
      orReopen(adoption, async () => {
        await completeCopies(adoption, fenceTimeoutMs);
        await askRouter();
      }),
    detached: () => unsubscribeAll(adoption),
    switched: () => renameFenced(source, retired),
    reloaded: async () => {
      if (reload !== undefined) await runCommand(reload, systemVariables);
    },
  };
  // The fence may have been lifted since, and it can be repeated. After "caught up", nothing lifts it.
  const last = state?.step === "fenced" ? "copied" : (state?.step ?? null);
  await runSteps(
    last,
    STEPS.map((step) => ({ step, run: run[step], save: () => saveStep(statePlace, STATE_SCHEMA, step) })),
    { assertLocked, progress, subject: source.database },
  );
}

/** Until the step "caught up", the single database is complete, so visitors need not wait for somebody to run the command again. */
async function orReopen(adoption: Adoption, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    try {
      await liftFence(adoption);
    } catch (failure) {
      throw new CliError(
        `${messageOf(error)}; ${adoption.source.database} still refuses connections (${messageOf(failure)}): run this command again, or with --cancel`,
        { cause: error },
      );
    }
    throw error;
  }
}

/** Throws the reasons why the adoption cannot begin. */
async function assertCanAdopt(adoption: Adoption, quotaPassword: string | undefined): Promise<void> {
  const { settings, source, replications } = adoption;
  for (const { target } of replications) {
    await assertSchemasAreEqual(source, target);
    await assertRolesKeepAccess(source, target);
  }
  const copies = Map.groupBy(replications, ({ target }) => target.server);
  const targets = new Map([...copies].map(([server, each]) => [server, each.length]));
  const { problems } = await findServerProblems(settings, { source: source.server, targets });
  const all = [
    ...problems,
    ...(await onPlace(source, findDatabaseProblems)),
    ...(await findAdoptionProblems(adoption)),
  ];
  if (all.length > 0) throw new CliError(all.join("; "));
  await withRouter(settings, quotaPassword, (router) => assertRouterAgrees(adoption, router, new Set()));
}

async function withRouter<T>(
  settings: Settings,
  quotaPassword: string | undefined,
  work: (router: Awaited<ReturnType<typeof connect>>) => Promise<T>,
): Promise<T> {
  if (quotaPassword === undefined)
    throw new CliError("QUOTA_DATABASE_PASSWORD is not set: the command logs in to the router as the quota service");
  const router = await connect(routerUrlFor(settings, "quota", quotaPassword));
  try {
    return await work(router);
  } finally {
    await router.end().catch(() => undefined);
  }
}

function describeDone({ source, retired }: Adoption): Result {
  return {
    json: { database: source.database, adopted: false },
    text: `${source.database} on ${source.server.name} has been adopted: it is named ${retired}.\n`,
  };
}

/** Reports the result, and ends the adoption. */
async function report({ source, retired, replications, statePlace }: Adoption): Promise<Result> {
  const usages: Usage[] = [];
  for (const { target } of replications) usages.push(await onPlace(target, readUsage));
  const sum = (key: "used" | "held" | "differences") => usages.reduce((total, usage) => total + usage[key], 0);
  const fencedSeconds = await onPlace(statePlace, async (client) => {
    const state = await readState<Step>(client, STATE_SCHEMA);
    await dropState(client, STATE_SCHEMA);
    return Math.round((state?.fencedSeconds ?? 0) * 10) / 10;
  });
  const differences = sum("differences");
  return {
    json: {
      database: source.database,
      from: source.server.name,
      shards: replications.length,
      fenced_seconds: fencedSeconds,
      usage_differences: differences,
    },
    text: `${source.database} is now ${replications.length} shards. The installation was fenced for ${fencedSeconds} s.
${
  differences === 0
    ? `Usage equals the ledger: ${sum("used")} counted messages, ${sum("held")} holds.`
    : `Usage differs from the ledger in ${differences} workspace months: run parley usage-audit.`
}
${retired} stays on ${source.server.name} and refuses connections. Drop it when you have backups of the shards.
`,
    exitCode: differences === 0 ? 0 : 1,
  };
}
