import { RpcError, status } from "@parley/rpc";

// Failpoints make a process fail at a chosen place, for tests. PARLEY_FAILPOINTS arms them with a list such as
// `quota.Reserve.after=kill@3 conversation.CloseTurn.after=lose%20`:
//   kill@N   kills the process with SIGKILL when the failpoint is reached for the Nth time
//   lose%P   fails in P percent of cases, as if the connection were lost; at an `.after` failpoint, a completed call loses its response
// In container images, failpoint.absent.ts replaces this file.

type Failure = { action: "kill" | "lose"; argument: number; hits: number };

const armed = new Map<string, Failure>();

const ENTRY = /^([\w.-]+)=(kill@|lose%)(\d+)$/;

/** Throws if the list is malformed: a test whose failpoint is not armed could pass by mistake. */
export function armFailpoints(list: string | undefined): void {
  if (!list) return;
  for (const entry of list.split(/\s+/)) {
    const [, name, action, argument] = ENTRY.exec(entry) ?? [];
    if (name === undefined) throw new Error(`not a failpoint: ${entry}`);
    armed.set(name, { action: action === "kill@" ? "kill" : "lose", argument: Number(argument), hits: 0 });
  }
}

const RPC_PREFIX = /^parley\.(\w+)\.v\d+\.\w+\//;

/**
 * If this failpoint is armed, fails as its entry in PARLEY_FAILPOINTS defines. With a `side`, `place` is an RPC's full name: the failpoints
 * of `parley.quota.v1.QuotaService/Reserve` are `quota.Reserve.before` and `quota.Reserve.after`.
 */
export function failpoint(place: string, side?: "before" | "after"): void {
  if (armed.size === 0) return;
  const failure = armed.get(side === undefined ? place : `${place.replace(RPC_PREFIX, "$1.")}.${side}`);
  if (failure === undefined) return;
  failure.hits++;
  if (failure.action === "kill" && failure.hits >= failure.argument) process.kill(process.pid, "SIGKILL");
  if (failure.action === "lose" && Math.random() * 100 < failure.argument) {
    throw new RpcError(status.UNAVAILABLE, "unavailable", "lost by a failpoint");
  }
}
