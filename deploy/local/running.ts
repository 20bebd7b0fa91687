import type { Closing } from "./closing.ts";
import type { ProcessSpec } from "./process-life.ts";
import type { ServiceName } from "./services.ts";
import { type Notice, type Supervised, supervise } from "./supervisor.ts";

/** Services that end together, in the order of their ending: nobody loses a peer before its own work is done. */
const STOP_ORDER: readonly (readonly ServiceName[])[] = [["edge"], ["conversation", "llm-proxy"], ["quota"]];

export type Running = { notify: (notice: Notice) => void; closing: Closing; stop: AbortSignal };

/** Starts the services side by side and waits until each can do its work. Throws StartError when one cannot. */
export async function startServices(specs: Record<ServiceName, ProcessSpec>, running: Running): Promise<void> {
  const started: Supervised[] = [];
  for (const names of STOP_ORDER.toReversed()) {
    const group = await Promise.all(names.map((name) => supervise(specs[name], running.notify)));
    addToClosing(group, running.closing);
    started.push(...group);
  }
  await allReady(started, running.stop);
}

/** Starts a process that serves people and has no peers. */
export async function startAlone(spec: ProcessSpec, running: Running): Promise<void> {
  const process = await supervise(spec, running.notify);
  addToClosing([process], running.closing);
  await allReady([process], running.stop);
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

/** Resolves when all are ready; rejects with the first that failed, or when we are told to stop. */
async function allReady(started: readonly Supervised[], stop: AbortSignal): Promise<void> {
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
