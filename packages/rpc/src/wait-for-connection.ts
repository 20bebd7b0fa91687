import { setTimeout as sleep } from "node:timers/promises";
import { type Client, connectivityState } from "@grpc/grpc-js";
import { RpcError, status } from "./error.ts";

const CONNECT_TIMEOUT_MS = 5_000;

/**
 * Resolves when the client's channel is no longer connecting or the signal is aborted. Resolves even if the channel failed to connect: the
 * call itself then fails. Throws UNAVAILABLE after 5 s, because the operating system of a frozen peer still accepts connections that the
 * peer's process never answers.
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
  // Ignores the callback's error: it reports only that the deadline has passed, which the caller checks.
  const change = new Promise<void>((resolve) =>
    channel.watchConnectivityState(channel.getConnectivityState(false), deadline, () => resolve()),
  );
  // watchConnectivityState has no signal, so a sleep with the signal ends the wait when the signal is aborted.
  const abortedOrTimedOut = sleep(CONNECT_TIMEOUT_MS, undefined, { ref: false, ...(signal && { signal }) }).catch(
    () => undefined,
  );
  await Promise.race([change, abortedOrTimedOut]);
}
