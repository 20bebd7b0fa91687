import { once } from "node:events";
import { createServer, constants as http2, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { RpcError, type ServiceImplementation, status } from "@parley/rpc";
import { ConversationService } from "@parley/rpc/conversation";
import { connectPeer, createGrpcServer, createLogger, fixedTokens, Lifecycle } from "@parley/service-kit";
import { freePort } from "@parley/test-support";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { translateTurnError } from "../chat/stream-turn.ts";
import { TURN_REQUEST } from "../testing/turn-request.ts";
import { handleOpenFailure, type IdentifiedTurn, type TurnDeps } from "./run-turn.ts";
import { Stopwatch } from "./stopwatch.ts";

const turn: IdentifiedTurn = { ...TURN_REQUEST, edgeId: "0195c1f0-0000-7000-8000-000000000003" };
const TOO_LARGE = new Uint8Array(17 * 1024 * 1024);
const HTTP2_HEADERS = { ":status": 200, "content-type": "application/grpc" };

let lifecycle: Lifecycle;
beforeEach(() => {
  lifecycle = new Lifecycle(createLogger("test", "silent"));
});
afterEach(() => lifecycle.close());

type OpenTurn = ServiceImplementation<typeof ConversationService>["openTurn"];

async function startConversation(openTurn: OpenTurn): Promise<number> {
  const port = await freePort();
  const grpc = createGrpcServer({ host: "127.0.0.1", port, drainMs: 1_000 }, lifecycle);
  const implementation = { openTurn, findTurn: async () => ({}) } as unknown as ServiceImplementation<
    typeof ConversationService
  >;
  grpc.serve(ConversationService, implementation, { intercept: (_, next) => next(), isAuthorized: () => true });
  await grpc.listen();
  return port;
}

/** Starts a peer that speaks HTTP/2 but is not Parley, such as a proxy. */
async function startForeignPeer(answer: (stream: ServerHttp2Stream) => void): Promise<number> {
  const server = createServer();
  const sessions = new Set<ServerHttp2Session>();
  server.on("session", (session) => sessions.add(session));
  server.on("stream", (stream) => {
    stream.on("error", () => undefined);
    answer(stream);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  lifecycle.onClose("foreign peer", async () => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Calls OpenTurn, which must fail. Returns the error, and whether the edge will close the turn. */
async function openTurn(port: number, isMultiplexed: boolean) {
  const options = { target: `127.0.0.1:${port}`, internalTokens: fixedTokens("token"), isMultiplexed };
  const conversation = connectPeer(ConversationService, options, lifecycle);
  // The first calls open the multiplexed stream.
  for (let i = 0; isMultiplexed && i < 20; i++) {
    await conversation.findTurn({}, { timeoutMs: 1_000 }).catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const error: unknown = await conversation.openTurn(turn, { timeoutMs: 5_000 }).then(
    () => undefined,
    (failure: unknown) => failure,
  );
  const closeIfOpened = vi.fn();
  const deps = { turnCloser: { closeIfOpened } } as unknown as TurnDeps;
  handleOpenFailure(deps, turn, error, new Stopwatch(() => 0, "open"));
  return { error, closes: closeIfOpened.mock.calls.length === 1 };
}

const statuses = {
  NOT_FOUND: status.NOT_FOUND,
  INVALID_ARGUMENT: status.INVALID_ARGUMENT,
  FAILED_PRECONDITION: status.FAILED_PRECONDITION,
  RESOURCE_EXHAUSTED: status.RESOURCE_EXHAUSTED,
};

describe.each([
  ["multiplexed", true],
  ["plain", false],
])("with %s calls", (_, isMultiplexed) => {
  test.each([
    ["overloaded", status.RESOURCE_EXHAUSTED],
    ["moderation_overloaded", status.RESOURCE_EXHAUSTED],
    ["too_many_keyed_turns", status.RESOURCE_EXHAUSTED],
    ["bot_not_found", status.NOT_FOUND],
    ["session_not_found", status.NOT_FOUND],
    ["invalid_argument", status.INVALID_ARGUMENT],
    ["idempotency_key_reused", status.FAILED_PRECONDITION],
  ])("the conversation service's own %s proves that the turn is not open", async (code, grpcStatus) => {
    const port = await startConversation(async () => {
      throw new RpcError(grpcStatus, code, "refused");
    });
    const { error, closes } = await openTurn(port, isMultiplexed);
    expect(error).toMatchObject({ status: grpcStatus, code });
    expect(closes).toBe(false);
  });

  test("a response that is too large, which the handler sends after it opened the turn, proves nothing", async () => {
    let opened = 0;
    const port = await startConversation(async () => {
      opened++;
      return { prompt: TOO_LARGE };
    });
    const { error, closes } = await openTurn(port, isMultiplexed);
    expect(opened).toBe(1);
    expect(error).toMatchObject({ status: status.RESOURCE_EXHAUSTED });
    expect(closes).toBe(true);
  });

  test("a refusal of a second attempt proves nothing about the first", async () => {
    const failures = [
      new RpcError(status.UNAVAILABLE, "unavailable", "the response was lost"),
      new RpcError(status.NOT_FOUND, "bot_not_found", "no such bot"),
    ];
    const port = await startConversation(async () => {
      throw failures.shift() ?? new Error("a third attempt");
    });
    const { error, closes } = await openTurn(port, isMultiplexed);
    expect(failures).toEqual([]);
    expect(error).toMatchObject({ code: "bot_not_found" });
    expect(closes).toBe(true);
  });
});

test("HTTP/2's ENHANCE_YOUR_CALM, which gRPC reports as RESOURCE_EXHAUSTED, proves nothing", async () => {
  const port = await startForeignPeer((stream) => stream.close(http2.NGHTTP2_ENHANCE_YOUR_CALM));
  const { error, closes } = await openTurn(port, false);
  expect(error).toMatchObject({ status: status.RESOURCE_EXHAUSTED });
  expect(closes).toBe(true);
});

test.each(Object.entries(statuses))("the status %s of a proxy proves nothing, and is a 503", async (_, grpcStatus) => {
  const port = await startForeignPeer((stream) => {
    stream.respond({ ...HTTP2_HEADERS, "grpc-status": String(grpcStatus), "grpc-message": "x" }, { endStream: true });
  });
  const { error, closes } = await openTurn(port, false);
  expect(error).toMatchObject({ status: grpcStatus });
  expect(closes).toBe(true);
  expect(translateTurnError(error)).toMatchObject({ status: 503, code: "unavailable" });
});
