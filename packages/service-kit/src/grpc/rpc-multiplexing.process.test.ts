import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { create } from "@bufbuild/protobuf";
import { Metadata, Server, type ServerDuplexStream } from "@grpc/grpc-js";
import { type CallContext, RpcError, status, toServiceDefinition } from "@parley/rpc";
import { CallsService } from "@parley/rpc/calls";
import { NIL_UUID } from "@parley/rpc/formats";
import {
  ListMonthTurnsRequestSchema,
  QuotaService,
  type ReserveRequest,
  ReserveResponseSchema,
} from "@parley/rpc/quota";
import { describe, expect, test } from "vitest";
import { listen } from "../testing/listen.ts";
import { countForever, echo, iterate, numbers, OPTIONS, readAll, useTestPeers } from "../testing/peers.ts";

const peers = useTestPeers();
const isMultiplexed = true;

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

describe("multiplexing", () => {
  test("plain streams whose readers stall do not delay calls on the same connection", async () => {
    let produced = 0;
    async function* produceUntilAborted(_: unknown, { signal }: CallContext) {
      for (; !signal.aborted; produced++) yield { counted: ["x".repeat(128 * 1024)] };
    }
    const port = await peers().startServer({ reserve: echo, listMonthTurns: produceUntilAborted });
    const client = await peers().connect(port, { multiplexesStreams: false });
    const readers = numbers(5).map(() => iterate(client.listMonthTurns({ month: "2026-11" }, { timeoutMs: 30_000 })));
    for (const reader of readers) await reader.next();
    // Waits until the handlers produce no more, because every window and buffer is full.
    for (let before = -1; before < produced; await sleep(200)) before = produced;
    for (const n of numbers(50))
      await expect(
        client.reserve({ workspaceId: String(n), turnId: NIL_UUID }, { timeoutMs: 2_000 }),
      ).resolves.toMatchObject({
        used: n,
      });
    for (const reader of readers) await reader.return?.();
  });

  test("a large request is sent as a plain gRPC call", async () => {
    const { reserve } = await peers().startClient(isMultiplexed, async ({ workspaceId }) => ({
      used: workspaceId.length,
    }));
    const responses = await Promise.all([reserve("1"), reserve("x".repeat(100_000)), reserve("2")]);
    expect(responses.map(({ used }) => used)).toEqual([1, 100_000, 1]);
    expect(peers().countStreams()).toBe(2);
  });

  test("a client that closes during the renewal of its streams opens no more streams", async () => {
    const { reserve } = await peers().startClient(isMultiplexed, echo);
    // A client renews a stream at the first call after 500 ms.
    await sleep(600);
    peers().proxy.latency(100);
    const last = reserve("1");
    await sleep(50);
    await peers().clientLifecycle.close();
    await expect(last).resolves.toMatchObject({ used: 1 });
    // The server accepts the new stream during this wait. If the client then opened another stream on the closed channel, the test would fail
    // with an unhandled rejection.
    await sleep(400);
  });

  test("unary calls on a lost stream are retried as plain calls", async () => {
    const held: (() => void)[] = [];
    let isHolding = true;
    const { reserve } = await peers().startClient(isMultiplexed, async (request, context) => {
      if (request.workspaceId !== "0" && isHolding) await new Promise<void>((resolve) => held.push(resolve));
      return echo(request, context);
    });
    const responses = Promise.all(numbers(20).map((n) => reserve(String(n + 1))));
    await expect.poll(() => held.length).toBe(20);
    isHolding = false;
    peers().proxy.resetAll();
    expect((await responses).map(({ used }) => used)).toEqual(numbers(20).map((n) => n + 1));
    // The lost stream, and a stream for each plain call.
    expect([peers().receivedCalls.length, peers().countStreams()]).toEqual([40, 21]);
    for (const resolve of held) resolve();
  });

  test.each([
    ["multiplexed", OPTIONS],
    ["plain because of a long deadline", { timeoutMs: 400_000 }],
  ])("Settle is retried although other calls have spent the retry budget, if calls are %s", async (_, options) => {
    const unavailable = () => new RpcError(status.UNAVAILABLE, "unavailable", "unavailable");
    let refusals = 1;
    const { reserve, settle } = await peers().startClient(
      isMultiplexed,
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
    for (let n = 0; n < 100; n += 20)
      await Promise.all(numbers(20).map(() => reserve("1", options).catch(() => undefined)));
    const callsBefore = peers().receivedCalls.length;
    await expect(reserve("1", options)).rejects.toMatchObject({ status: status.UNAVAILABLE });
    expect(peers().receivedCalls.length).toBe(callsBefore + 1);
    await expect(settle(options)).resolves.toMatchObject({ settled: [] });
  });

  test("cancelling drops responses that have arrived but were not read", async () => {
    const { list } = await peers().startClient(isMultiplexed, echo, async function* () {
      for (const n of numbers(5)) yield { counted: [String(n)] };
    });
    const controller = new AbortController();
    const responses = iterate(list("1", { ...OPTIONS, signal: controller.signal }));
    expect((await responses.next()).value.counted).toEqual(["0"]);
    await sleep(100);
    controller.abort();
    await expect(responses.next()).rejects.toMatchObject({ status: status.CANCELLED });
  });

  test("a client keeps no reference to the request while it reads the responses", async () => {
    const { list } = await peers().startClient(isMultiplexed, echo, countForever);
    const start = () => {
      const request = create(ListMonthTurnsRequestSchema, { workspaceId: "1", month: "2026-11" });
      return { reference: new WeakRef(request), responses: iterate(list(request)) };
    };
    const { reference, responses } = start();
    await responses.next();
    await expect.poll(() => (collectGarbage(), reference.deref())).toBeUndefined();
    expect((await responses.next()).done).toBe(false);
    await responses.return?.();
  });

  test("a streaming call outlives the renewal of its multiplexed stream", async () => {
    const { list } = await peers().startClient(isMultiplexed, echo, async function* ({ workspaceId }) {
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
    expect(peers().countStreams()).toBeGreaterThan(2);
  });

  function startPlainServer(): Server {
    const server = new Server();
    peers().serverLifecycle.onClose("server", () => server.forceShutdown());
    server.addService(toServiceDefinition(QuotaService), {
      Reserve: (call: { request: ReserveRequest }, answer: (error: null, response: object) => void) =>
        answer(null, create(ReserveResponseSchema, { used: Number(call.request.workspaceId) })),
    });
    return server;
  }

  test("a peer of a version without multiplexing gets plain calls", async () => {
    const client = await peers().connect(await listen(startPlainServer()));
    for (const n of numbers(20))
      await expect(client.reserve({ workspaceId: String(n), turnId: NIL_UUID }, OPTIONS)).resolves.toMatchObject({
        used: n,
      });
  });

  test("a peer that sends malformed frames gets plain calls", async () => {
    const server = startPlainServer();
    let malformed = 0;
    const { Multiplex } = toServiceDefinition(CallsService);
    if (Multiplex === undefined) throw new Error("CallsService has no Multiplex");
    server.addService(
      { Multiplex: { ...Multiplex, responseSerialize: (bytes: Buffer) => bytes } },
      {
        Multiplex: (stream: ServerDuplexStream<unknown, Buffer>) => {
          stream.sendMetadata(new Metadata());
          stream.on("error", () => undefined);
          stream.on("data", () => {
            malformed++;
            // The header of a five-byte field, without the five bytes.
            stream.write(Buffer.from("0a05", "hex"));
          });
        },
      },
    );
    const client = await peers().connect(await listen(server));
    await expect
      .poll(async () => {
        await expect(client.reserve({ workspaceId: "7", turnId: NIL_UUID }, OPTIONS)).resolves.toMatchObject({
          used: 7,
        });
        return malformed;
      })
      .toBeGreaterThan(0);
  });
});
