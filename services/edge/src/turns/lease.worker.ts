import type { RpcClient } from "@parley/rpc";
import type { ConversationService } from "@parley/rpc/conversation";
import type { Lifecycle, Logger } from "@parley/service-kit";

/** The lease survives two failed renewals. */
const RENEWALS_PER_LEASE = 3;
const FIRST_RETRY_DELAY_MS = 250;
const TIMEOUT_MS = 5_000;

export type Lease = {
  /** Whether the lease was ever granted. From then on the sweeper knows which turns belong to this edge. */
  wasGranted(): boolean;
};

/** Renews this process's edge lease three times per lease (30 s by default). Until the first grant, retries every 250 ms. */
export function keepLease(
  conversation: RpcClient<typeof ConversationService>,
  edgeId: string,
  log: Logger,
  lifecycle: Lifecycle,
): Lease {
  let wasGranted = false;
  let delayMs = FIRST_RETRY_DELAY_MS;
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;

  async function renew(): Promise<void> {
    try {
      const { leaseSeconds } = await conversation.renewEdge({ edgeId }, { timeoutMs: TIMEOUT_MS });
      wasGranted = true;
      delayMs = (leaseSeconds * 1_000) / RENEWALS_PER_LEASE;
    } catch (error) {
      if (wasGranted) log.warn({ error }, "lease renewal failed");
    }
    if (!isStopped) timer = setTimeout(() => void renew(), delayMs);
  }

  void renew();
  lifecycle.onClose("lease", () => {
    isStopped = true;
    clearTimeout(timer);
  });
  return { wasGranted: () => wasGranted };
}
