import type { Server } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

export type Connections = {
  /**
   * Waits until every connection is closed, at most `timeoutMs`. Requests that arrive on open connections are still served. The server must
   * have stopped listening, and must send `Connection: close` with its responses.
   */
  drain(timeoutMs: number): Promise<void>;
};

/**
 * While the server drains, an idle connection stays open for a tenth of the drain timeout, at most this long, so that the response to the next
 * request can announce the close. If the server closed the connection without notice, a client that has just sent a request could not know
 * whether it was processed.
 */
const MAX_IDLE_GRACE_MS = 10_000;

/** Tracks a server's connections. Call it before the server listens. */
export function trackConnections(server: Server): Connections {
  const open = new Set<Socket>();
  /** The number of open requests by connection. It can exceed 1, because a client may pipeline requests. */
  const requests = new Map<Socket, number>();
  let isDraining = false;
  let idleGraceMs = MAX_IDLE_GRACE_MS;
  let onEmpty: (() => void) | undefined;

  server.on("connection", (socket: Socket) => {
    open.add(socket);
    if (isDraining) socket.setTimeout(idleGraceMs);
    socket.once("close", () => {
      open.delete(socket);
      requests.delete(socket);
      if (open.size === 0) onEmpty?.();
    });
  });
  server.on("request", ({ socket }, response) => {
    requests.set(socket, (requests.get(socket) ?? 0) + 1);
    // Removes the idle timeout that the connection handler or drain() has set. Node itself removes it only if the connection has served an
    // earlier request.
    if (isDraining) socket.setTimeout(server.timeout);
    response.once("close", () => {
      const remaining = (requests.get(socket) ?? 0) - 1;
      if (remaining > 0) requests.set(socket, remaining);
      else requests.delete(socket);
    });
  });

  return {
    async drain(timeoutMs) {
      isDraining = true;
      idleGraceMs = Math.min(MAX_IDLE_GRACE_MS, timeoutMs / 10);
      // Limits the idle time after the end of a response that did not announce the close, such as a stream that is now open.
      server.keepAliveTimeout = idleGraceMs;
      for (const socket of open) if (!requests.has(socket)) socket.setTimeout(idleGraceMs);
      if (open.size === 0) return;
      const empty = new Promise<void>((resolve) => {
        onEmpty = resolve;
      });
      await Promise.race([empty, sleep(timeoutMs, undefined, { ref: false })]);
    },
  };
}
