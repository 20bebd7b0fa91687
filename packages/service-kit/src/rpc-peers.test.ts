import { setTimeout as sleep } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { Metadata, Server, type ServerDuplexStream } from "@grpc/grpc-js";
import {
  type CallContext,
  type Interceptor,
  RpcError,
  type ServiceImplementation,
  serviceDefinition,
  status,
} from "@parley/rpc";
import { CallsService } from "@parley/rpc/calls";
import {
  type GetUsageRequest,
  GetUsageResponseSchema,
  type ListMonthTurnsRequest,
  QuotaService,
} from "@parley/rpc/quota";
import { freePort, startTcpProxy, type TcpProxy } from "@parley/test-support";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createGrpcServer } from "./grpc-server.ts";
import { Lifecycle } from "./lifecycle.ts";
import { createLogger } from "./logger.ts";
import { connectPeer } from "./rpc-peers.ts";
import { listen } from "./testing/listen.ts";

type Handler = (request: GetUsageRequest, context: CallContext) => Promise<{ used: number }>;
type StreamHandler = (request: ListMonthTurnsRequest, context: CallContext) => AsyncIterable<{ counted: string[] }>;

const TIMEOUT = { timeoutMs: 5_000 };

let peer: Lifecycle;
let caller: Lifecycle;
let wire: TcpProxy;
let contexts: CallContext[];
beforeEach(() => {
  peer = new Lifecycle(createLogger("test", "silent"));
  caller = new Lifecycle(createLogger("test", "silent"));
  contexts = [];
});
afterEach(async () => {
  await caller.close();
  // A stream that nobody replaces is kept for a second, and a server waits for its streams.
  await wire.close();
  await peer.close();
});

const see: Interceptor = (context, next) => {
  contexts.push(context);
  return next();
};

/** The calls that came together have their stream's metadata in common; each that came by itself has its own. */
const streams = () => new Set(contexts.map((context) => context.metadata)).size;

/** A client of a server of these methods, with a stream that is there. */
async function clientOf(getUsage: Handler, listMonthTurns?: StreamHandler) {
  const port = await freePort();
  const { serve, listen } = createGrpcServer({ host: "127.0.0.1", port, drainMs: 5_000 }, peer);
  const implementation = { getUsage, listMonthTurns } as unknown as ServiceImplementation<typeof QuotaService>;
  serve(QuotaService, implementation, { intercept: see, isAuthorized: () => true });
  await listen();
  const quota = await connected(port);
  // Nothing waits for a stream: the first calls go by themselves.
  await expect
    .poll(async () => {
      contexts = [];
      await quota.getUsage({ workspaceId: "0" }, TIMEOUT);
      await quota.getUsage({ workspaceId: "0" }, TIMEOUT);
      return streams();
    })
    .toBe(1);
  contexts = [];
  return quota;
}

async function connected(port: number) {
  wire = await startTcpProxy({ targetPort: port });
  const target = `127.0.0.1:${wire.port}`;
  return connectPeer(QuotaService, { target, internalToken: "token", multiplexesStreams: true }, caller);
}

async function usageOf(getUsage: Handler) {
  const quota = await clientOf(getUsage);
  return (workspaceId: string, options: { timeoutMs: number; signal?: AbortSignal } = TIMEOUT) =>
    quota.getUsage({ workspaceId }, options);
}

const echo: Handler = async ({ workspaceId }) => ({ used: Number(workspaceId) });
const numbers = (count: number) => Array.from({ length: count }, (_, n) => n);

test("calls that are made together share a stream, and each has its own answer", async () => {
  const getUsage = await usageOf(echo);
  const answers = await Promise.all(numbers(100).map((n) => getUsage(String(n))));
  expect(answers.map(({ used }) => used)).toEqual(numbers(100));
  expect(contexts).toHaveLength(100);
  expect(streams()).toBe(1);
  expect(contexts.every(({ method }) => method === "parley.quota.v1.QuotaService/GetUsage")).toBe(true);
});

test("a call that takes long or fails is no other's business", async () => {
  const slow = Promise.withResolvers<{ used: number }>();
  const getUsage = await usageOf(async (request, context) => {
    if (request.workspaceId === "1") return slow.promise;
    if (request.workspaceId === "2") throw new RpcError(status.NOT_FOUND, "workspace_not_found", "no such workspace");
    return echo(request, context);
  });
  const first = getUsage("1");
  await expect(getUsage("2")).rejects.toMatchObject({ status: status.NOT_FOUND, code: "workspace_not_found" });
  await expect(getUsage("3")).resolves.toMatchObject({ used: 3 });
  slow.resolve({ used: 1 });
  await expect(first).resolves.toMatchObject({ used: 1 });
  expect(streams()).toBe(1);
});

test("a large request goes by itself", async () => {
  const getUsage = await usageOf(async ({ workspaceId }) => ({ used: workspaceId.length }));
  const answers = await Promise.all([getUsage("1"), getUsage("x".repeat(100_000)), getUsage("2")]);
  expect(answers.map(({ used }) => used)).toEqual([1, 100_000, 1]);
  expect(streams()).toBe(2);
});

test("a deadline ends the call at both ends", async () => {
  const getUsage = await usageOf((request, context) =>
    request.workspaceId === "0" ? echo(request, context) : new Promise(() => undefined),
  );
  await expect(getUsage("1", { timeoutMs: 100 })).rejects.toMatchObject({ status: status.DEADLINE_EXCEEDED });
  await expect.poll(() => contexts.map(({ signal }) => signal.aborted)).toEqual([true]);
});

test("who cancels a call ends it at both ends, and no other", async () => {
  const getUsage = await usageOf((request, context) =>
    request.workspaceId === "0" ? echo(request, context) : new Promise(() => undefined),
  );
  const cancels = [new AbortController(), new AbortController()] as const;
  const calls = cancels.map(({ signal }, n) => getUsage(`${n + 1}`, { ...TIMEOUT, signal }));
  await expect.poll(() => contexts.length).toBe(2);
  for (const [n, cancel] of cancels.entries()) {
    cancel.abort();
    await expect(calls[n]).rejects.toMatchObject({ status: status.CANCELLED });
    await expect.poll(() => contexts.map(({ signal }) => signal.aborted)).toEqual([true, n === 1]);
  }
});

test("a caller that is gone ends its calls", async () => {
  const getUsage = await usageOf((request, context) =>
    request.workspaceId === "0" ? echo(request, context) : new Promise(() => undefined),
  );
  const calls = numbers(10).map((n) => getUsage(`${n + 1}`).catch(() => undefined));
  await expect.poll(() => contexts.length).toBe(10);
  const before = [...contexts];
  await caller.close();
  wire.resetAll();
  await expect.poll(() => before.every(({ signal }) => signal.aborted)).toBe(true);
  await Promise.all(calls);
});

test("a caller that closes while it asks for new streams asks for no more", async () => {
  const getUsage = await usageOf(echo);
  await sleep(600);
  wire.latency(100);
  const last = getUsage("1");
  await sleep(50);
  await caller.close();
  await expect(last).resolves.toMatchObject({ used: 1 });
  // By now it has its answer, and would ask for the next one: on a closed channel that throws, which nobody awaits.
  await sleep(400);
});

test("calls on a stream that is lost are made again by themselves", async () => {
  const held: (() => void)[] = [];
  let isHolding = true;
  const getUsage = await usageOf(async (request, context) => {
    if (request.workspaceId !== "0" && isHolding) await new Promise<void>((resolve) => held.push(resolve));
    return echo(request, context);
  });
  const answers = Promise.all(numbers(20).map((n) => getUsage(String(n + 1))));
  await expect.poll(() => held.length).toBe(20);
  isHolding = false;
  wire.resetAll();
  expect((await answers).map(({ used }) => used)).toEqual(numbers(20).map((n) => n + 1));
  for (const resolve of held) resolve();
});

test("a call that finds its peer unavailable is made again", async () => {
  let refusals = 1;
  const getUsage = await usageOf((request, context) => {
    if (request.workspaceId === "1" && refusals-- > 0) throw new RpcError(status.UNAVAILABLE, "unavailable", "away");
    return echo(request, context);
  });
  await expect(getUsage("1")).resolves.toMatchObject({ used: 1 });
});

/** Starts a server that answers GetUsage without the multiplexer. */
function startPlainServer(): Server {
  const server = new Server();
  peer.onClose("server", () => server.forceShutdown());
  server.addService(serviceDefinition(QuotaService), {
    GetUsage: (call: { request: GetUsageRequest }, answer: (error: null, response: object) => void) =>
      answer(null, create(GetUsageResponseSchema, { used: Number(call.request.workspaceId) })),
  });
  return server;
}

test("a peer of an earlier version is called as it knows it", async () => {
  const quota = await connected(await listen(startPlainServer()));
  for (const n of numbers(20))
    await expect(quota.getUsage({ workspaceId: String(n) }, TIMEOUT)).resolves.toMatchObject({ used: n });
});

test("a peer that sends malformed frames is called without shared streams", async () => {
  const server = startPlainServer();
  let malformed = 0;
  const { Carry } = serviceDefinition(CallsService);
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
  const quota = await connected(await listen(server));
  await expect
    .poll(async () => {
      await expect(quota.getUsage({ workspaceId: "7" }, TIMEOUT)).resolves.toMatchObject({ used: 7 });
      return malformed;
    })
    .toBeGreaterThan(0);
});

test("a server that stops answers what is under way, and is not kept by who goes on calling", async () => {
  const getUsage = await usageOf(echo);
  const over = new AbortController();
  const failures: unknown[] = [];
  const callers = numbers(8).map(async (n) => {
    while (!over.signal.aborted) {
      await getUsage(String(n)).catch((error: unknown) => failures.push(error));
      if (failures.length > 0) return;
    }
  });
  await expect.poll(() => contexts.length).toBeGreaterThan(50);
  const startedAt = performance.now();
  const answered = contexts.length;
  await peer.close();
  expect(performance.now() - startedAt).toBeLessThan(4_000);
  over.abort();
  await Promise.all(callers);
  expect(contexts.length).toBeGreaterThanOrEqual(answered);
  // Nobody is left to call: whoever tried was told so, and nothing else.
  for (const error of failures) expect(error).toMatchObject({ status: status.UNAVAILABLE });
});

describe("calls that are answered by streams", () => {
  const ids = (n: number, count: number) => numbers(count).map((each) => `${n} ${each}`);
  const piece = (n: number) => "x".repeat(1_000) + n;

  async function listOf(listMonthTurns: StreamHandler) {
    const quota = await clientOf(echo, listMonthTurns);
    return (workspaceId: string, options: { timeoutMs: number; signal?: AbortSignal } = TIMEOUT) =>
      quota.listMonthTurns({ workspaceId }, options);
  }

  async function read(answers: AsyncIterable<{ counted: string[] }>): Promise<string[]> {
    const all: string[] = [];
    for await (const { counted } of answers) all.push(...counted);
    return all;
  }

  test("many on one stream are each whole and in order", async () => {
    const list = await listOf(async function* ({ workspaceId }) {
      for (const each of ids(Number(workspaceId), 50)) {
        yield { counted: [each] };
        if (Math.random() < 0.2) await sleep(1);
      }
    });
    const lists = await Promise.all(numbers(100).map((n) => read(list(String(n)))));
    expect(lists).toEqual(numbers(100).map((n) => ids(n, 50)));
    expect(streams()).toBe(1);
  });

  test("what a slow reader does not take stays where it is made, and holds up no other", async () => {
    let made = 0;
    const list = await listOf(async function* ({ workspaceId }) {
      for (const n of numbers(200)) {
        if (workspaceId === "slow") made++;
        yield { counted: [piece(n)] };
      }
    });
    const slow = list("slow")[Symbol.asyncIterator]();
    await slow.next();
    expect(await read(list("quick"))).toEqual(numbers(200).map(piece));
    // A window of 16 KiB, and the one that waits for it.
    expect(made).toBeLessThanOrEqual(18);
    expect(streams()).toBe(1);
    const rest = [];
    for (let next = await slow.next(); !next.done; next = await slow.next()) rest.push(...next.value.counted);
    expect(rest).toEqual(numbers(200).slice(1).map(piece));
  });

  test("a failure comes after what was sent before it", async () => {
    const list = await listOf(async function* () {
      yield { counted: ["1"] };
      throw new RpcError(status.NOT_FOUND, "workspace_not_found", "no such workspace");
    });
    const answers = list("1")[Symbol.asyncIterator]();
    expect((await answers.next()).value.counted).toEqual(["1"]);
    await expect(answers.next()).rejects.toMatchObject({ status: status.NOT_FOUND, code: "workspace_not_found" });
  });

  async function* endless(_: unknown, { signal }: CallContext) {
    for (let n = 0; !signal.aborted; n++) {
      yield { counted: [String(n)] };
      await sleep(5);
    }
  }

  test("who stops reading, cancels or runs out of time ends the call at both ends, and no other", async () => {
    const list = await listOf(endless);
    const cancel = new AbortController();
    const other = list("other")[Symbol.asyncIterator]();
    await other.next();
    for await (const _ of list("1")) break;
    const canceled = read(list("2", { ...TIMEOUT, signal: cancel.signal }));
    const expired = read(list("3", { timeoutMs: 100 }));
    setTimeout(() => cancel.abort(), 50);
    await expect(canceled).rejects.toMatchObject({ status: status.CANCELLED });
    await expect(expired).rejects.toMatchObject({ status: status.DEADLINE_EXCEEDED });
    await expect
      .poll(() => contexts.map(({ signal }) => signal.aborted), { timeout: 500 })
      .toEqual([false, true, true, true]);
    expect((await other.next()).done).toBe(false);
    await other.return?.();
  });

  test("who cancels hears no more, also of what has come already, whole or not", async () => {
    const list = await listOf(async function* () {
      for (const n of numbers(5)) yield { counted: [String(n)] };
    });
    const cancel = new AbortController();
    const answers = list("1", { ...TIMEOUT, signal: cancel.signal })[Symbol.asyncIterator]();
    expect((await answers.next()).value.counted).toEqual(["0"]);
    await sleep(100);
    cancel.abort();
    await expect(answers.next()).rejects.toMatchObject({ status: status.CANCELLED });
  });

  test("a stream that is lost fails its calls, and the next ones find another", async () => {
    const list = await listOf(endless);
    const calls = numbers(5).map((n) => read(list(String(n))));
    await expect.poll(() => contexts.length).toBe(5);
    wire.resetAll();
    for (const call of calls) await expect(call).rejects.toMatchObject({ status: status.UNAVAILABLE });
    const next = list("next")[Symbol.asyncIterator]();
    expect((await next.next()).done).toBe(false);
    await next.return?.();
  });

  test("one that outlives its stream goes on to its end", async () => {
    const list = await listOf(async function* ({ workspaceId }) {
      for (const n of numbers(workspaceId === "long" ? 15 : 1)) {
        yield { counted: [String(n)] };
        await sleep(100);
      }
    });
    const beside: Promise<string[]>[] = [];
    const timer = setInterval(() => beside.push(read(list("beside"))), 100);
    expect(await read(list("long"))).toEqual(numbers(15).map(String));
    clearInterval(timer);
    for (const each of beside) expect(await each).toEqual(["0"]);
    expect(streams()).toBeGreaterThan(2);
  });
});
