import { setTimeout as sleep } from "node:timers/promises";
import type { CallContext, Interceptor, ServiceImplementation } from "@parley/rpc";
import { NIL_UUID } from "@parley/rpc/formats";
import { type ListMonthTurnsRequest, QuotaService, type ReserveRequest } from "@parley/rpc/quota";
import { freePort, startTcpProxy, type TcpProxy } from "@parley/test-support";
import { afterEach, beforeEach, expect } from "vitest";
import { createGrpcServer } from "../grpc/grpc-server.ts";
import { connectPeer, type PeerOptions } from "../grpc/rpc-peers.ts";
import { Lifecycle } from "../process/lifecycle.ts";
import { createLogger } from "../process/logger.ts";
import { fixedTokens } from "../settings/tokens.ts";

export type UnaryHandler = (request: ReserveRequest, context: CallContext) => Promise<{ used: number }>;
export type StreamHandler = (
  request: ListMonthTurnsRequest,
  context: CallContext,
) => AsyncIterable<{ counted: string[] }>;
type CallOptions = { timeoutMs: number; signal?: AbortSignal };
type Handlers = {
  reserve: UnaryHandler;
  listMonthTurns?: StreamHandler | undefined;
  settle?: (() => Promise<object>) | undefined;
};

export const OPTIONS: CallOptions = { timeoutMs: 5_000 };

/** A quota server and clients that call it through a TCP proxy. */
export class TestPeers {
  readonly serverLifecycle = new Lifecycle(createLogger("test", "silent"));
  readonly clientLifecycle = new Lifecycle(createLogger("test", "silent"));
  /** The calls that the server has received since the client was ready. */
  receivedCalls: CallContext[] = [];
  #proxy: TcpProxy | undefined;

  /** The proxy of the last connected client. */
  get proxy(): TcpProxy {
    if (this.#proxy === undefined) throw new Error("no client is connected");
    return this.#proxy;
  }

  /** Counts the gRPC streams of `receivedCalls`. Multiplexed calls of one stream share a metadata object. */
  countStreams(): number {
    return new Set(this.receivedCalls.map(({ metadata }) => metadata)).size;
  }

  async startServer(handlers: Handlers): Promise<number> {
    const port = await freePort();
    const grpc = createGrpcServer({ host: "127.0.0.1", port, drainMs: 5_000 }, this.serverLifecycle);
    const record: Interceptor = (context, next) => {
      this.receivedCalls.push(context);
      return next();
    };
    const implementation = handlers as unknown as ServiceImplementation<typeof QuotaService>;
    grpc.serve(QuotaService, implementation, { intercept: record, isAuthorized: () => true });
    await grpc.listen();
    return port;
  }

  /** Starts a server and returns its client. The stream of a multiplexed client is already open. */
  async startClient(
    isMultiplexed: boolean,
    reserve: UnaryHandler,
    listMonthTurns?: StreamHandler,
    settle?: () => Promise<object>,
  ) {
    const port = await this.startServer({ reserve, listMonthTurns, settle });
    const client = await this.connect(port, { isMultiplexed });
    // A multiplexed client sends plain calls until its stream is open.
    await expect
      .poll(async () => {
        this.receivedCalls = [];
        for (const _ of [1, 2]) await client.reserve({ workspaceId: "0", turnId: NIL_UUID }, OPTIONS);
        return this.countStreams();
      })
      .toBe(isMultiplexed ? 1 : 2);
    this.receivedCalls = [];
    return {
      reserve: (workspaceId: string, options = OPTIONS) => client.reserve({ workspaceId, turnId: NIL_UUID }, options),
      list: (request: string | ListMonthTurnsRequest, options = OPTIONS) =>
        client.listMonthTurns(
          typeof request === "string" ? { workspaceId: request, month: "2026-11" } : request,
          options,
        ),
      settle: (options = OPTIONS) => client.settle({ settlements: [] }, options),
    };
  }

  async connect(port: number, options: Partial<PeerOptions> = {}) {
    this.#proxy = await startTcpProxy({ targetPort: port });
    const target = `127.0.0.1:${this.#proxy.port}`;
    const internalTokens = fixedTokens("token");
    return connectPeer(
      QuotaService,
      { target, internalTokens, multiplexesStreams: true, ...options },
      this.clientLifecycle,
    );
  }

  async close(): Promise<void> {
    await this.clientLifecycle.close();
    // Ends the stream of the last connected client. Otherwise the server would wait up to a second for the stream.
    await this.#proxy?.close();
    await this.serverLifecycle.close();
  }
}

/** Creates peers before each test and closes them after it. Returns a function that returns the running test's peers. */
export function useTestPeers(): () => TestPeers {
  let peers: TestPeers;
  beforeEach(() => {
    peers = new TestPeers();
  });
  afterEach(() => peers.close());
  return () => peers;
}

export const numbers = (count: number) => Array.from({ length: count }, (_, n) => n);
export const echo: UnaryHandler = async ({ workspaceId }) => ({ used: Number(workspaceId) });
/** Never answers, except to the calls that `startClient` makes itself (workspace `0`). */
export const neverAnswer: UnaryHandler = (request, context) =>
  request.workspaceId === "0" ? echo(request, context) : new Promise(() => undefined);

export async function* countForever(_: unknown, { signal }: CallContext) {
  for (let n = 0; !signal.aborted; n++) {
    yield { counted: [String(n)] };
    await sleep(5);
  }
}

export async function readAll(responses: AsyncIterable<{ counted: string[] }>): Promise<string[]> {
  const all: string[] = [];
  for await (const { counted } of responses) all.push(...counted);
  return all;
}

export const iterate = <T>(items: AsyncIterable<T>) => items[Symbol.asyncIterator]();
