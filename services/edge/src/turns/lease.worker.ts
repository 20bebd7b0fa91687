import { type RpcClient, RpcError } from "@parley/rpc";
import type { ConversationService } from "@parley/rpc/conversation";
import { backoffMs, type Lifecycle, type Logger, withJitter } from "@parley/service-kit";
import type { ReachabilityCheck } from "./reachability-check.client.ts";
import type { RunningTurns } from "./running-turns.ts";

/** The lease survives two failed renewals. */
const RENEWALS_PER_LEASE = 3;
const FIRST_RETRY_DELAY_MS = 250;
const MAX_RETRY_DELAY_MS = 2_000;
const MAX_RENEW_TIMEOUT_MS = 5_000;
/** RenewEdge's code if the conversation service responds but cannot store the lease. */
const NOT_STORED = "lease_not_stored";

export type LeaseDeps = {
  conversation: RpcClient<typeof ConversationService>;
  /** This process, and how other edges call it. */
  edge: { edgeId: string; address: string; token: string };
  runningTurns: RunningTurns;
  reachability: Pick<ReachabilityCheck, "isAnyReachable">;
};

export type Lease = {
  /**
   * Whether a lease was granted and at least one service has responded within the last lease duration. If only the
   * conversation service fails, the edge refuses requests with 503 but stays ready, because it cannot know whether
   * another edge reaches that service.
   */
  isConnected(): boolean;
};

/**
 * Renews this process's edge lease three times per lease duration (30 s by default). Cancels the turns that an erasure or the sweeper has
 * closed. Does not use runPeriodically, which ends when the process starts to stop: the lease must live until the edge has drained its
 * streams.
 */
export function keepLease(
  { conversation, edge, runningTurns, reachability }: LeaseDeps,
  log: Logger,
  lifecycle: Lifecycle,
): Lease {
  let leaseMs: number | undefined;
  /** The lease's end, or one lease duration after the last response of a service. */
  let connectedUntilMs = Number.NEGATIVE_INFINITY;
  let failures = 0;
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;

  const renewTimeoutMs = () =>
    Math.min(MAX_RENEW_TIMEOUT_MS, (leaseMs ?? Number.POSITIVE_INFINITY) / RENEWALS_PER_LEASE);

  /** Returns the delay until the next renewal in milliseconds. */
  async function renew(): Promise<number> {
    const startedAtMs = performance.now();
    try {
      const { leaseSeconds, closedTurns } = await conversation.renewEdge(edge, { timeoutMs: renewTimeoutMs() });
      for (const { turnId } of closedTurns) runningTurns.get(turnId)?.cancel();
      leaseMs = leaseSeconds * 1_000;
      connectedUntilMs = startedAtMs + leaseMs;
      failures = 0;
      return leaseMs / RENEWALS_PER_LEASE;
    } catch (error) {
      if (leaseMs !== undefined) {
        log.warn({ error }, "lease renewal failed, retrying");
        void stayConnectedIfAnyServiceResponds(leaseMs, error);
      }
      const maxDelayMs = Math.min(MAX_RETRY_DELAY_MS, (leaseMs ?? Number.POSITIVE_INFINITY) / RENEWALS_PER_LEASE);
      return withJitter(backoffMs(++failures, FIRST_RETRY_DELAY_MS, maxDelayMs));
    }
  }

  async function stayConnectedIfAnyServiceResponds(forMs: number, error: unknown): Promise<void> {
    const hasResponded = error instanceof RpcError && error.code === NOT_STORED;
    if (hasResponded || (await reachability.isAnyReachable())) connectedUntilMs = performance.now() + forMs;
  }

  async function renewAndSchedule(): Promise<void> {
    const delayMs = await renew();
    if (!isStopped) timer = setTimeout(() => void renewAndSchedule(), delayMs);
  }

  void renewAndSchedule();
  lifecycle.onClose("lease", () => {
    isStopped = true;
    clearTimeout(timer);
  });
  return { isConnected: () => performance.now() < connectedUntilMs };
}
