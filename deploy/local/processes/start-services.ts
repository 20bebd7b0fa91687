import type { CleanupStack } from "../cleanup-stack.ts";
import type { ProcessSpec } from "./process-run.ts";
import type { ServiceName } from "./services.ts";
import { type Notice, type SupervisedProcess, supervise } from "./supervisor.ts";

/** The order in which the services stop: each service stops after its callers. */
const STOP_ORDER: readonly ServiceName[] = ["console", "edge", "conversation", "llm-proxy", "quota"];

export type StartContext = { notify: (notice: Notice) => void; cleanups: CleanupStack; stopSignal: AbortSignal };

/**
 * Starts the services concurrently, and waits until all are ready. If a service does not start, throws StartError and drops all notices:
 * the other services' notices only report that the failed service cannot be reached.
 */
export async function startServices(
  specs: Record<ServiceName, ProcessSpec>,
  context: StartContext,
  except: readonly ServiceName[] = [],
): Promise<void> {
  const started: SupervisedProcess[] = [];
  const earlyNotices: Notice[] = [];
  let areAllReady = false;
  const notify = (notice: Notice) => (areAllReady ? context.notify(notice) : earlyNotices.push(notice));
  for (const name of STOP_ORDER.toReversed().filter((each) => !except.includes(each))) {
    const supervised = await supervise(specs[name], notify);
    addCleanup(supervised, context.cleanups);
    started.push(supervised);
  }
  await waitUntilAllReady(started, context.stopSignal);
  areAllReady = true;
  for (const notice of earlyNotices) context.notify(notice);
}

/** Starts a single process and waits until it is ready. */
export async function startSupervisedProcess(spec: ProcessSpec, context: StartContext): Promise<void> {
  const supervised = await supervise(spec, context.notify);
  addCleanup(supervised, context.cleanups);
  await waitUntilAllReady([supervised], context.stopSignal);
}

function addCleanup({ stop, kill }: SupervisedProcess, cleanups: CleanupStack): void {
  cleanups.add(stop, kill);
}

/** Rejects with the first failure, or when `stopSignal` aborts. */
async function waitUntilAllReady(started: readonly SupervisedProcess[], stopSignal: AbortSignal): Promise<void> {
  const stopped = Promise.withResolvers<never>();
  const onAbort = () => stopped.reject(stopSignal.reason);
  stopSignal.addEventListener("abort", onAbort, { once: true });
  try {
    stopSignal.throwIfAborted();
    await Promise.race([Promise.all(started.map(({ ready }) => ready)), stopped.promise]);
  } finally {
    stopSignal.removeEventListener("abort", onAbort);
  }
}
