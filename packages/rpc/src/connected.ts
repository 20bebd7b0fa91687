import { setTimeout as sleep } from "node:timers/promises";
import { type Client, connectivityState } from "@grpc/grpc-js";
import { RpcError, status } from "./error.ts";

const CONNECT_TIMEOUT_MS = 5_000;

/**
 * Resolves at once unless the channel is connecting; then when that has succeeded or failed, which the call will notice itself.
 * Throws UNAVAILABLE after 5 s: a frozen peer's system accepts connections on which nobody ever answers.
 */
export async function whenConnected(channel: Client, signal?: AbortSignal): Promise<void> {
  const deadline = Date.now() + CONNECT_TIMEOUT_MS;
  while (isConnecting(channel) && !signal?.aborted) {
    if (Date.now() >= deadline) throw new RpcError(status.UNAVAILABLE, "unavailable", "the peer does not answer");
    await stateChange(channel, deadline, signal);
  }
}

function isConnecting(channel: Client): boolean {
  const state = channel.getChannel().getConnectivityState(true);
  return state === connectivityState.CONNECTING || state === connectivityState.IDLE;
}

async function stateChange(channel: Client, deadline: number, signal: AbortSignal | undefined): Promise<void> {
  const inner = channel.getChannel();
  // The callback's error says that the deadline has passed, which the caller sees for itself.
  const changed = new Promise<void>((resolve) =>
    inner.watchConnectivityState(inner.getConnectivityState(false), deadline, () => resolve()),
  );
  const left = sleep(CONNECT_TIMEOUT_MS, undefined, { ref: false, ...(signal && { signal }) }).catch(() => undefined);
  await Promise.race([changed, left]);
}
