import { setTimeout as sleep } from "node:timers/promises";
import { type Client, connectivityState } from "@grpc/grpc-js";
import { RpcError, status } from "./error.ts";

const CONNECT_TIMEOUT_MS = 5_000;

/**
 * Waits until the client's channel has connected or has failed to connect, or the signal is aborted. Throws UNAVAILABLE after 5 s, because
 * the operating system of a frozen peer accepts connections that the peer's process never answers.
 */
export async function waitForConnection(client: Client, signal?: AbortSignal): Promise<void> {
  const deadline = Date.now() + CONNECT_TIMEOUT_MS;
  while (isConnecting(client) && !signal?.aborted) {
    if (Date.now() >= deadline) throw new RpcError(status.UNAVAILABLE, "unavailable", "the peer does not answer");
    await waitForStateChange(client, deadline, signal);
  }
}

function isConnecting(client: Client): boolean {
  const state = client.getChannel().getConnectivityState(true);
  return state === connectivityState.CONNECTING || state === connectivityState.IDLE;
}

async function waitForStateChange(client: Client, deadline: number, signal: AbortSignal | undefined): Promise<void> {
  const channel = client.getChannel();
  // The callback's only error reports that the deadline has passed, which the caller checks.
  const change = new Promise<void>((resolve) =>
    channel.watchConnectivityState(channel.getConnectivityState(false), deadline, () => resolve()),
  );
  // watchConnectivityState takes no signal, so this sleep ends the wait when the signal is aborted.
  const abortedOrTimedOut = sleep(CONNECT_TIMEOUT_MS, undefined, { ref: false, ...(signal && { signal }) }).catch(
    () => undefined,
  );
  await Promise.race([change, abortedOrTimedOut]);
}
