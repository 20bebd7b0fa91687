import { RpcError, status } from "@parley/rpc";

/**
 * Places where tests make a process fail as the world does. Armed by PARLEY_FAILPOINTS, a list such as
 * `quota.Reserve.after=kill@3 conversation.CloseTurn.after=lose%20`:
 *   kill@N   kills the process, as kill -9 does, the Nth time it comes by
 *   lose%P   in P of 100 times fails as if the connection had broken; after an effect that means that its answer is lost
 * Images have failpoint.absent.ts in this file's place.
 */
type Failure = { action: "kill" | "lose"; number: number; passed: number };

const armed = new Map<string, Failure>();

const ENTRY = /^([\w.-]+)=(kill@|lose%)(\d+)$/;

/** Arms the failpoints of a list; throws when it cannot be read, so that no test passes for want of a failure. */
export function armFailpoints(list: string | undefined): void {
  if (!list) return;
  for (const entry of list.split(/\s+/)) {
    const [, name, action, number] = ENTRY.exec(entry) ?? [];
    if (name === undefined) throw new Error(`not a failpoint: ${entry}`);
    armed.set(name, { action: action === "kill@" ? "kill" : "lose", number: Number(number), passed: 0 });
  }
}

const RPC = /^parley\.(\w+)\.v\d+\.\w+\//;

/**
 * Does nothing unless a test has armed this place: a name such as `edge.opened`, or the side of an RPC, whose
 * `parley.quota.v1.QuotaService/Reserve` is `quota.Reserve.before` and `quota.Reserve.after`.
 */
export function failpoint(place: string, side?: "before" | "after"): void {
  if (armed.size === 0) return;
  const failure = armed.get(side === undefined ? place : `${place.replace(RPC, "$1.")}.${side}`);
  if (failure === undefined) return;
  failure.passed++;
  if (failure.action === "kill" && failure.passed >= failure.number) process.kill(process.pid, "SIGKILL");
  if (failure.action === "lose" && Math.random() * 100 < failure.number) {
    throw new RpcError(status.UNAVAILABLE, "unavailable", "lost by a failpoint");
  }
}
