import type { RpcClient } from "@parley/rpc";
import type { ConversationService } from "@parley/rpc/conversation";
import type { Lifecycle, Logger } from "@parley/service-kit";

/** Three chances a lease. */
const RENEWALS_A_LEASE = 3;
const FIRST_RETRY_MS = 250;
const TIMEOUT_MS = 5_000;

export type Lease = {
  /** Whether the lease was ever given; from then on this edge's turns are known to be its own. */
  held(): boolean;
};

/** Renews this process's lease three times a lease (30 s, if nothing else was configured), and every quarter second until the first. */
export function keepLease(
  conversation: RpcClient<typeof ConversationService>,
  edgeId: string,
  log: Logger,
  lifecycle: Lifecycle,
): Lease {
  let held = false;
  let pauseMs = FIRST_RETRY_MS;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;

  async function renew(): Promise<void> {
    try {
      const { leaseSeconds } = await conversation.renewEdge({ edgeId }, { timeoutMs: TIMEOUT_MS });
      held = true;
      pauseMs = (leaseSeconds * 1_000) / RENEWALS_A_LEASE;
    } catch (error) {
      if (held) log.warn({ error }, "lease not renewed");
    }
    if (!stopped) timer = setTimeout(() => void renew(), pauseMs);
  }

  void renew();
  lifecycle.onClose("lease", () => {
    stopped = true;
    clearTimeout(timer);
  });
  return { held: () => held };
}
