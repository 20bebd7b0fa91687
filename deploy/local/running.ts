import type { Closing } from "./closing.ts";
import type { ProcessSpec } from "./process-life.ts";
import type { ServiceName } from "./services.ts";
import { type Notice, type Supervised, supervise } from "./supervisor.ts";

/** Groups of services to stop together, in this order, so that callers stop before the services they call. */
const STOP_ORDER: readonly (readonly ServiceName[])[] = [["edge"], ["conversation", "llm-proxy"], ["quota"]];

export type Running = { notify: (notice: Notice) => void; closing: Closing; stop: AbortSignal };

/** Starts the services concurrently and waits until all are ready. Throws StartError when one fails. */
export async function startServices(specs: Record<ServiceName, ProcessSpec>, running: Running): Promise<void> {
  const started: Supervised[] = [];
  for (const names of STOP_ORDER.toReversed()) {
    const group = await Promise.all(names.map((name) => supervise(specs[name], running.notify)));
    addToClosing(group, running.closing);
    started.push(...group);
  }
  await waitUntilReady(started, running.stop);
}

/** Starts a single process and waits until it is ready. */
export async function startProcess(spec: ProcessSpec, running: Running): Promise<void> {
  const supervised = await supervise(spec, running.notify);
  addToClosing([supervised], running.closing);
  await waitUntilReady([supervised], running.stop);
}

function addToClosing(group: readonly Supervised[], closing: Closing): void {
  closing.add(
    async () => {
      await Promise.all(group.map((each) => each.stop()));
    },
    () => {
      for (const each of group) each.kill();
    },
  );
}

/** Resolves when all are ready. Rejects with the first failure, or when `stop` aborts. */
async function waitUntilReady(started: readonly Supervised[], stop: AbortSignal): Promise<void> {
  const stopped = Promise.withResolvers<never>();
  const onAbort = () => stopped.reject(stop.reason);
  stop.addEventListener("abort", onAbort, { once: true });
  try {
    stop.throwIfAborted();
    await Promise.race([Promise.all(started.map(({ ready }) => ready)), stopped.promise]);
  } finally {
    stop.removeEventListener("abort", onAbort);
  }
}
