import { setTimeout as sleep } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { Metadata, Server, type ServerDuplexStream } from "@grpc/grpc-js";
import {
  type CallContext,
  type Interceptor,
  RpcError,
  type ServiceImplementation,
  status,
  toServiceDefinition,
} from "@parley/rpc";
import { CallsService } from "@parley/rpc/calls";
import {
  type GetUsageRequest,
  GetUsageResponseSchema,
  type ListMonthTurnsRequest,
  QuotaService,
} from "@parley/rpc/quota";
import { freePort, startTcpProxy, type TcpProxy } from "@parley/test-support";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { createGrpcServer } from "./grpc-server.ts";
import { Lifecycle } from "./lifecycle.ts";
import { createLogger } from "./logger.ts";
import { connectPeer, type PeerOptions } from "./rpc-peers.ts";
import { listen } from "./testing/listen.ts";
import { fixedTokens } from "./tokens.ts";

type UnaryHandler = (request: GetUsageRequest, context: CallContext) => Promise<{ used: number }>;
type StreamHandler = (request: ListMonthTurnsRequest, context: CallContext) => AsyncIterable<{ counted: string[] }>;
type Options = { timeoutMs: number; signal?: AbortSignal };

const OPTIONS: Options = { timeoutMs: 5_000 };

let peer: Lifecycle;
let caller: Lifecycle;
let wire: TcpProxy;
/** The calls that the server has received since the client was ready. */
let contexts: CallContext[];
beforeEach(() => {
  peer = new Lifecycle(createLogger("test", "silent"));
  caller = new Lifecycle(createLogger("test", "silent"));
  contexts = [];
});
afterEach(async () => {
  await caller.close();
  // Ends the client's last stream. It would stay open for up to a second, and the server would wait for it.
  await wire.close();
  await peer.close();
});

const record: Interceptor = (context, next) => {
  contexts.push(context);
  return next();
};

/** Counts the gRPC calls that contained the received calls. Multiplexed calls share the metadata object of their stream. */
const countStreams = () => new Set(contexts.map(({ metadata }) => metadata)).size;

type Handlers = {
  getUsage: UnaryHandler;
  listMonthTurns?: StreamHandler | undefined;
  settle?: (() => Promise<object>) | undefined;
};

/** Starts a server with these handlers. Returns its port. */
async function startServer(handlers: Handlers): Promise<number> {
  const port = await freePort();
  const grpc = createGrpcServer({ host: "127.0.0.1", port, drainMs: 5_000 }, peer);
  const implementation = handlers as unknown as ServiceImplementation<typeof QuotaService>;
  grpc.serve(QuotaService, implementation, { intercept: record, isAuthorized: () => true });
  await grpc.listen();
  return port;
}

/** Starts a server with these handlers and returns a client of it. A multiplexed client has an open stream. */
async function startClient(
  isMultiplexed: boolean,
  getUsage: UnaryHandler,
  listMonthTurns?: StreamHandler,
  settle?: () => Promise<object>,
) {
  const port = await startServer({ getUsage, listMonthTurns, settle });
  const client = await connectThroughProxy(port, { isMultiplexed });
  // No call waits for a stream, so the first ones are not multiplexed.
  await expect
    .poll(async () => {
      contexts = [];
      for (const _ of [1, 2]) await client.getUsage({ workspaceId: "0" }, OPTIONS);
      return countStreams();
    })
    .toBe(isMultiplexed ? 1 : 2);
  contexts = [];
  return {
    getUsage: (workspaceId: string, options = OPTIONS) => client.getUsage({ workspaceId }, options),
    list: (workspaceId: string, options = OPTIONS) => client.listMonthTurns({ workspaceId }, options),
    settle: () => client.settle({ settlements: [] }, OPTIONS),
  };
}

async function connectThroughProxy(port: number, options: Partial<PeerOptions> = {}) {
  wire = await startTcpProxy({ targetPort: port });
  const target = `127.0.0.1:${wire.port}`;
  const internalTokens = fixedTokens("token");
  return connectPeer(QuotaService, { target, internalTokens, multiplexesStreams: true, ...options }, caller);
}

const numbers = (count: number) => Array.from({ length: count }, (_, n) => n);
const echo: UnaryHandler = async ({ workspaceId }) => ({ used: Number(workspaceId) });
/** Never answers, except to the calls that `startClient` makes until its stream is open. */
const neverAnswer: UnaryHandler = (request, context) =>
  request.workspaceId === "0" ? echo(request, context) : new Promise(() => undefined);

async function* countForever(_: unknown, { signal }: CallContext) {
  for (let n = 0; !signal.aborted; n++) {
    yield { counted: [String(n)] };
    await sleep(5);
  }
}

async function readAll(responses: AsyncIterable<{ counted: string[] }>): Promise<string[]> {
  const all: string[] = [];
  for await (const { counted } of responses) all.push(...counted);
  return all;
}

const iterate = <T>(items: AsyncIterable<T>) => items[Symbol.asyncIterator]();

test("calls between services do not use the HTTP proxy of the environment", async () => {
  // A port on which nothing listens.
  vi.stubEnv("http_proxy", `http://127.0.0.1:${await freePort()}`);
  onTestFinished(() => void vi.unstubAllEnvs());
  const client = await startClient(false, echo);
  expect(await client.getUsage("3")).toMatchObject({ used: 3 });
});

describe.each([
  ["multiplexed", true],
  ["plain", false],
])("%s calls", (_, isMultiplexed) => {
  test("each concurrent call gets its own response", async () => {
    const { getUsage } = await startClient(isMultiplexed, echo);
    const responses = await Promise.all(numbers(100).map((n) => getUsage(String(n))));
    expect(responses.map(({ used }) => used)).toEqual(numbers(100));
    expect(contexts).toHaveLength(100);
    expect(countStreams()).toBe(isMultiplexed ? 1 : 100);
    expect(contexts.every(({ method }) => method === "parley.quota.v1.QuotaService/GetUsage")).toBe(true);
  });

  test("a slow or failed call does not affect the others", async () => {
    const slow = Promise.withResolvers<{ used: number }>();
    const { getUsage } = await startClient(isMultiplexed, async (request, context) => {
      if (request.workspaceId === "1") return slow.promise;
      if (request.workspaceId === "2") throw new RpcError(status.NOT_FOUND, "workspace_not_found", "no such workspace");
      return echo(request, context);
    });
    const first = getUsage("1");
    await expect(getUsage("2")).rejects.toMatchObject({ status: status.NOT_FOUND, code: "workspace_not_found" });
    await expect(getUsage("3")).resolves.toMatchObject({ used: 3 });
    slow.resolve({ used: 1 });
    await expect(first).resolves.toMatchObject({ used: 1 });
  });

  test("a deadline ends the call at both ends", async () => {
    const { getUsage } = await startClient(isMultiplexed, neverAnswer);
    // Long enough for the call to reach the server on a busy machine.
    await expect(getUsage("1", { timeoutMs: 500 })).rejects.toMatchObject({ status: status.DEADLINE_EXCEEDED });
    await expect.poll(() => contexts.map(({ signal }) => signal.aborted)).toEqual([true]);
  });

  test("cancelling a call ends it at both ends, and no other call", async () => {
    const { getUsage } = await startClient(isMultiplexed, neverAnswer);
    const controllers = [new AbortController(), new AbortController()] as const;
    const calls: Promise<unknown>[] = [];
    for (const [n, { signal }] of controllers.entries()) {
      calls.push(getUsage(`${n + 1}`, { ...OPTIONS, signal }));
      await expect.poll(() => contexts.length).toBe(n + 1);
    }
    for (const [n, controller] of controllers.entries()) {
      controller.abort();
      await expect(calls[n]).rejects.toMatchObject({ status: status.CANCELLED });
      await expect.poll(() => contexts.map(({ signal }) => signal.aborted)).toEqual([true, n === 1]);
    }
  });

  test("a caller that disconnects ends its calls at the server", async () => {
    const { getUsage } = await startClient(isMultiplexed, neverAnswer);
    const calls = numbers(10).map((n) => getUsage(`${n + 1}`).catch(() => undefined));
    await expect.poll(() => contexts.length).toBe(10);
    const received = [...contexts];
    await caller.close();
    wire.resetAll();
    await expect.poll(() => received.every(({ signal }) => signal.aborted)).toBe(true);
    await Promise.all(calls);
  });

  test("a unary call is repeated when the peer is unavailable", async () => {
    let refusals = 1;
    const { getUsage } = await startClient(isMultiplexed, (request, context) => {
      if (request.workspaceId === "1" && refusals-- > 0)
        throw new RpcError(status.UNAVAILABLE, "unavailable", "unavailable");
      return echo(request, context);
    });
    await expect(getUsage("1")).resolves.toMatchObject({ used: 1 });
  });

  test("a peer that is unavailable gets few more calls than its callers make", async () => {
    let isUnavailable = true;
    const { getUsage } = await startClient(isMultiplexed, (request, context) => {
      if (request.workspaceId === "1" && isUnavailable)
        throw new RpcError(status.UNAVAILABLE, "unavailable", "unavailable");
      return echo(request, context);
    });
    const calls = 400;
    for (let n = 0; n < calls; n += 20) await Promise.all(numbers(20).map(() => getUsage("1").catch(() => undefined)));
    // A tenth of the calls, after a burst of 50, once for multiplexed calls and once for gRPC's own retries.
    expect(contexts.length).toBeLessThan(calls * 1.1 + 100);
    isUnavailable = false;
    await expect(getUsage("1")).resolves.toMatchObject({ used: 1 });
  });

  test("a stopping server answers its pending calls and stops although callers keep calling", async () => {
    const { getUsage } = await startClient(isMultiplexed, echo);
    const stopped = new AbortController();
    const failures: unknown[] = [];
    const callers = numbers(8).map(async (n) => {
      while (!stopped.signal.aborted && failures.length === 0)
        await getUsage(String(n)).catch((error: unknown) => failures.push(error));
    });
    await expect.poll(() => contexts.length).toBeGreaterThan(50);
    const startedAt = performance.now();
    await peer.close();
    expect(performance.now() - startedAt).toBeLessThan(4_000);
    stopped.abort();
    await Promise.all(callers);
    // There is no other replica to call.
    for (const error of failures) expect(error).toMatchObject({ status: status.UNAVAILABLE });
  });

  describe("with streamed responses", () => {
    const idsOf = (n: number) => numbers(50).map((each) => `${n} ${each}`);

    test("concurrent streams are each complete and in order", async () => {
      const { list } = await startClient(isMultiplexed, echo, async function* ({ workspaceId }) {
        for (const id of idsOf(Number(workspaceId))) {
          yield { counted: [id] };
          if (Math.random() < 0.2) await sleep(1);
        }
      });
      const lists = await Promise.all(numbers(100).map((n) => readAll(list(String(n)))));
      expect(lists).toEqual(numbers(100).map(idsOf));
      expect(countStreams()).toBe(isMultiplexed ? 1 : 100);
    });

    test("a slow reader pauses its own handler only, and misses nothing", async () => {
      let produced = 0;
      const total = 600;
      const item = (n: number) => "x".repeat(1_000) + n;
      const { list } = await startClient(isMultiplexed, echo, async function* ({ workspaceId }) {
        for (const n of numbers(total)) {
          if (workspaceId === "slow") produced++;
          yield { counted: [item(n)] };
        }
      });
      const slow = iterate(list("slow"));
      await slow.next();
      expect(await readAll(list("quick"))).toEqual(numbers(total).map(item));
      // Multiplexed: a window of 16 KiB, and the item that waits for the window. Plain: the items that HTTP/2 and grpc-js buffer.
      expect(produced).toBeLessThanOrEqual(isMultiplexed ? 18 : total / 2);
      const rest = [];
      for (let next = await slow.next(); !next.done; next = await slow.next()) rest.push(...next.value.counted);
      expect(rest).toEqual(numbers(total).slice(1).map(item));
    });

    test("an error arrives after the responses that were sent before it", async () => {
      const { list } = await startClient(isMultiplexed, echo, async function* () {
        yield { counted: ["1"] };
        throw new RpcError(status.NOT_FOUND, "workspace_not_found", "no such workspace");
      });
      const responses = iterate(list("1"));
      expect((await responses.next()).value.counted).toEqual(["1"]);
      await expect(responses.next()).rejects.toMatchObject({ status: status.NOT_FOUND, code: "workspace_not_found" });
    });

    test("stopping to read, cancelling or a deadline ends the call at both ends, and no other call", async () => {
      const { list } = await startClient(isMultiplexed, echo, countForever);
      const controller = new AbortController();
      const other = iterate(list("other"));
      await other.next();
      for await (const _ of list("1")) break;
      const cancelled = readAll(list("2", { ...OPTIONS, signal: controller.signal }));
      await expect.poll(() => contexts.length).toBe(3);
      const expired = readAll(list("3", { timeoutMs: 500 }));
      setTimeout(() => controller.abort(), 50);
      await expect(cancelled).rejects.toMatchObject({ status: status.CANCELLED });
      await expect(expired).rejects.toMatchObject({ status: status.DEADLINE_EXCEEDED });
      await expect.poll(() => contexts.map(({ signal }) => signal.aborted)).toEqual([false, true, true, true]);
      expect((await other.next()).done).toBe(false);
      await other.return?.();
    });

    test("a lost connection fails the stream, and the next call connects again", async () => {
      const { list } = await startClient(isMultiplexed, echo, countForever);
      const calls = numbers(5).map((n) => readAll(list(String(n))));
      await expect.poll(() => contexts.length).toBe(5);
      wire.resetAll();
      for (const call of calls) await expect(call).rejects.toMatchObject({ status: status.UNAVAILABLE });
      const next = iterate(list("next"));
      expect((await next.next()).done).toBe(false);
      await next.return?.();
    });
  });
});

describe("multiplexing", () => {
  test("stalled readers of plain streams on the same connection delay no call", async () => {
    let produced = 0;
    async function* large(_: unknown, { signal }: CallContext) {
      for (; !signal.aborted; produced++) yield { counted: ["x".repeat(128 * 1024)] };
    }
    const port = await startServer({ getUsage: echo, listMonthTurns: large });
    const client = await connectThroughProxy(port, { multiplexesStreams: false });
    const readers = numbers(5).map(() => iterate(client.listMonthTurns({}, { timeoutMs: 30_000 })));
    for (const reader of readers) await reader.next();
    // The servers' handlers have filled every window and buffer.
    for (let before = -1; before < produced; await sleep(200)) before = produced;
    for (const n of numbers(50))
      await expect(client.getUsage({ workspaceId: String(n) }, { timeoutMs: 2_000 })).resolves.toMatchObject({
        used: n,
      });
    for (const reader of readers) await reader.return?.();
  });

  test("a large request gets a gRPC call of its own", async () => {
    const { getUsage } = await startClient(true, async ({ workspaceId }) => ({ used: workspaceId.length }));
    const responses = await Promise.all([getUsage("1"), getUsage("x".repeat(100_000)), getUsage("2")]);
    expect(responses.map(({ used }) => used)).toEqual([1, 100_000, 1]);
    expect(countStreams()).toBe(2);
  });

  test("a client that closes during the renewal of its streams opens no more", async () => {
    const { getUsage } = await startClient(true, echo);
    await sleep(600);
    wire.latency(100);
    const last = getUsage("1");
    await sleep(50);
    await caller.close();
    await expect(last).resolves.toMatchObject({ used: 1 });
    // By now the answer for the new stream has arrived. If the client then opened another stream on the closed channel, that would be
    // an unhandled rejection.
    await sleep(400);
  });

  test("unary calls on a lost stream are retried without it", async () => {
    const held: (() => void)[] = [];
    let isHolding = true;
    const { getUsage } = await startClient(true, async (request, context) => {
      if (request.workspaceId !== "0" && isHolding) await new Promise<void>((resolve) => held.push(resolve));
      return echo(request, context);
    });
    const responses = Promise.all(numbers(20).map((n) => getUsage(String(n + 1))));
    await expect.poll(() => held.length).toBe(20);
    isHolding = false;
    wire.resetAll();
    expect((await responses).map(({ used }) => used)).toEqual(numbers(20).map((n) => n + 1));
    for (const resolve of held) resolve();
  });

  test("Settle is repeated although other calls have spent the retry budget", async () => {
    const unavailable = () => new RpcError(status.UNAVAILABLE, "unavailable", "unavailable");
    let refusals = 1;
    const { getUsage, settle } = await startClient(
      true,
      async (request, context) => {
        if (request.workspaceId === "1") throw unavailable();
        return echo(request, context);
      },
      undefined,
      async () => {
        if (refusals-- > 0) throw unavailable();
        return { settled: [] };
      },
    );
    for (let n = 0; n < 100; n += 20) await Promise.all(numbers(20).map(() => getUsage("1").catch(() => undefined)));
    const spent = contexts.length;
    await expect(getUsage("1")).rejects.toMatchObject({ status: status.UNAVAILABLE });
    expect(contexts.length).toBe(spent + 1);
    await expect(settle()).resolves.toMatchObject({ settled: [] });
  });

  test("cancelling drops responses that have arrived but were not read", async () => {
    const { list } = await startClient(true, echo, async function* () {
      for (const n of numbers(5)) yield { counted: [String(n)] };
    });
    const controller = new AbortController();
    const responses = iterate(list("1", { ...OPTIONS, signal: controller.signal }));
    expect((await responses.next()).value.counted).toEqual(["0"]);
    await sleep(100);
    controller.abort();
    await expect(responses.next()).rejects.toMatchObject({ status: status.CANCELLED });
  });

  test("a streamed response outlives the renewal of its stream", async () => {
    const { list } = await startClient(true, echo, async function* ({ workspaceId }) {
      for (const n of numbers(workspaceId === "long" ? 15 : 1)) {
        yield { counted: [String(n)] };
        await sleep(100);
      }
    });
    const short: Promise<string[]>[] = [];
    const timer = setInterval(() => short.push(readAll(list("short"))), 100);
    expect(await readAll(list("long"))).toEqual(numbers(15).map(String));
    clearInterval(timer);
    for (const each of short) expect(await each).toEqual(["0"]);
    expect(countStreams()).toBeGreaterThan(2);
  });

  /** Starts a server that answers GetUsage but has no multiplexer. */
  function startPlainServer(): Server {
    const server = new Server();
    peer.onClose("server", () => server.forceShutdown());
    server.addService(toServiceDefinition(QuotaService), {
      GetUsage: (call: { request: GetUsageRequest }, answer: (error: null, response: object) => void) =>
        answer(null, create(GetUsageResponseSchema, { used: Number(call.request.workspaceId) })),
    });
    return server;
  }

  test("a peer of a version without multiplexing gets plain calls", async () => {
    const client = await connectThroughProxy(await listen(startPlainServer()));
    for (const n of numbers(20))
      await expect(client.getUsage({ workspaceId: String(n) }, OPTIONS)).resolves.toMatchObject({ used: n });
  });

  test("a peer that sends malformed frames gets plain calls", async () => {
    const server = startPlainServer();
    let malformed = 0;
    const { Carry } = toServiceDefinition(CallsService);
    if (Carry === undefined) throw new Error("CallsService has no Carry");
    server.addService(
      { Carry: { ...Carry, responseSerialize: (bytes: Buffer) => bytes } },
      {
        Carry: (stream: ServerDuplexStream<unknown, Buffer>) => {
          stream.sendMetadata(new Metadata());
          stream.on("error", () => undefined);
          stream.on("data", () => {
            malformed++;
            stream.write(Buffer.from("0a05", "hex"));
          });
        },
      },
    );
    const client = await connectThroughProxy(await listen(server));
    await expect
      .poll(async () => {
        await expect(client.getUsage({ workspaceId: "7" }, OPTIONS)).resolves.toMatchObject({ used: 7 });
        return malformed;
      })
      .toBeGreaterThan(0);
  });
});
