import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { RpcError, status } from "@parley/rpc";
import { expect, onTestFinished, test, vi } from "vitest";
import { RunningTurns, Stopwatch } from "../turns/index.ts";
import { type KeyedRequest, type KeyedStreamDeps, streamKeyedTurn } from "./stream-keyed-turn.ts";

/** Starts a server, sends it a request, and returns the server's response object. */
async function openResponse(): Promise<ServerResponse> {
  const opened = Promise.withResolvers<ServerResponse>();
  const server = createServer((_, response) => opened.resolve(response));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`).catch(() => undefined);
  return opened.promise;
}

test("a request that waits for a turn of a lost edge ends immediately when the endSignal of the request's stream aborts", async () => {
  const raw = await openResponse();
  const ending = new AbortController();
  const findTurn = vi.fn(async () => ({ turn: { turnId: "t", messageId: 7n, edgeId: "other edge" } }));
  const release = vi.fn();
  const deps = {
    turnDeps: { edgeId: "this edge", runningTurns: new RunningTurns(), conversation: { findTurn } },
    streams: { open: () => ({ endSignal: ending.signal, markForwarded: vi.fn(), release }) },
    edges: { attach: () => Promise.reject(new RpcError(status.UNAVAILABLE, "unavailable", "the edge is gone")) },
  } as unknown as KeyedStreamDeps;
  const turn = { workspaceId: "ws", sessionId: "s", keyHash: new Uint8Array(32) } as unknown as KeyedRequest;
  const reply = { raw, hijack: () => undefined, header: () => undefined, getHeaders: () => ({}) };
  const context = { clientBucket: "", reply, stopwatch: new Stopwatch(() => 0, "open") } as never;
  const streaming = streamKeyedTurn(deps, turn, { messageId: 7, offset: 0 }, context);
  // The first lookup finds the turn. The second one begins the wait, which would last 1 s and end with a third lookup.
  await expect.poll(() => findTurn.mock.calls.length).toBe(2);
  ending.abort();
  await streaming;
  expect(findTurn).toHaveBeenCalledTimes(2);
  await expect.poll(() => raw.destroyed).toBe(true);
  expect(release).toHaveBeenCalledOnce();
});
