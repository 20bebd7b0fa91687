import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { RpcError, status } from "@parley/rpc";
import { TurnOutcome } from "@parley/rpc/conversation";

import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { HttpError } from "../http/index.ts";
import { TURN_REQUEST } from "../testing/turn-request.ts";
import { RunningTurns, Stopwatch } from "../turns/index.ts";
import type { KeyedRequest, KeyedStreamDeps } from "./keyed-exchange.ts";
import { NO_MESSAGE_LIMITS } from "./message-counter.ts";
import { streamKeyedTurn } from "./stream-keyed-turn.ts";

const HASHES = { keyHash: new Uint8Array(32), requestHash: new Uint8Array(32) };
const NEVER = new AbortController().signal;

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

describe("requests with the key of a turn that is being opened", () => {
  const STORED = {
    turnId: "t",
    messageId: 7n,
    edgeId: "other edge",
    end: { outcome: TurnOutcome.DONE, content: "Hi", sources: [] },
  };
  const CONSENT = { version: "1", text: "text", link: "" };

  /** OpenTurn waits for `proceed`, and then asks for a consent or, if the request has it, finds the turn of the key. */
  function createEdge() {
    const { promise: proceeded, resolve: proceed } = Promise.withResolvers<void>();
    const openTurn = vi.fn(async ({ consentVersion }: { consentVersion: string }) => {
      await proceeded;
      return consentVersion === "" ? { consentRequired: CONSENT } : { existing: STORED };
    });
    const findTurn = async () => {
      throw new RpcError(status.FAILED_PRECONDITION, "idempotency_key_reused", "another message");
    };
    const runningTurns = new RunningTurns();
    const deps = {
      turnDeps: {
        edgeId: "this edge",
        runningTurns,
        conversation: { openTurn, findTurn },
        turnStartLimiter: { begin: async () => () => undefined },
        unpaidReplies: { findRefusal: () => undefined },
      },
      attachMetrics: { attaches: { inc: vi.fn() }, detached: { inc: vi.fn() } },
    } as unknown as KeyedStreamDeps;
    let requests = 0;
    /** @param cancelSignal aborted when the client leaves. */
    const send = async (
      fields: Partial<KeyedRequest>,
      position?: { messageId: number; offset: number },
      cancelSignal = NEVER,
    ) => {
      const raw = await openResponse();
      const turn = { ...TURN_REQUEST, ...HASHES, turnId: `turn-${requests++}`, ...fields };
      const reply = { raw, request: {}, hijack: () => undefined, header: () => undefined, getHeaders: () => ({}) };
      const context = { ...NO_MESSAGE_LIMITS, clientBucket: "", reply, stopwatch: new Stopwatch(() => 0, "open") };
      const streams = { open: () => ({ cancelSignal, endSignal: cancelSignal, release: vi.fn() }) };
      return streamKeyedTurn({ ...deps, streams } as never, turn, position, context as never).then(
        () => "streamed",
        ({ status: httpStatus, code }: HttpError) => `${httpStatus} ${code}`,
      );
    };
    return { openTurn, runningTurns, proceed, send };
  }

  test("get their own answer if the request that opens it is refused, and open one turn", async () => {
    const { openTurn, runningTurns, proceed, send } = createEdge();
    const opener = send({});
    await expect.poll(() => openTurn.mock.calls.length).toBe(1);
    const others = [
      send({}),
      send({ consentVersion: "1" }),
      send({ consentVersion: "1" }),
      send({ consentVersion: "1" }, { messageId: 7, offset: 1 }),
      send({ consentVersion: "1", requestHash: new Uint8Array(32).fill(1) }),
    ];
    await sleep(200);
    expect(openTurn).toHaveBeenCalledOnce();
    proceed();
    const refused = "403 consent_required";
    expect(await opener).toBe(refused);
    expect(await Promise.all(others)).toEqual([
      refused,
      "streamed",
      "streamed",
      "streamed",
      "409 idempotency_key_reused",
    ]);
    expect(openTurn.mock.calls.map(([{ consentVersion }]) => consentVersion)).toEqual(["", "", "1"]);
    expect(runningTurns.findReply({ ...TURN_REQUEST, ...HASHES })).toBeUndefined();
  });

  test("open no turn if their client left before the request that opens it is refused", async () => {
    const { openTurn, proceed, send } = createEdge();
    const opener = send({});
    await expect.poll(() => openTurn.mock.calls.length).toBe(1);
    const leaving = new AbortController();
    const other = send({ consentVersion: "1" }, undefined, leaving.signal);
    await sleep(200);
    leaving.abort();
    proceed();
    expect(await Promise.all([opener, other])).toEqual(["403 consent_required", "499 client_gone"]);
    expect(openTurn).toHaveBeenCalledOnce();
  });
});
