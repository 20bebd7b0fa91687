import { setTimeout as sleep } from "node:timers/promises";
import { RpcError, status } from "@parley/rpc";
import { freePort } from "@parley/test-support";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { countForever, echo, iterate, neverAnswer, numbers, OPTIONS, readAll, useTestPeers } from "../testing/peers.ts";

const peers = useTestPeers();

test("calls between services do not use the HTTP proxy of the environment", async () => {
  // A port on which nothing listens.
  vi.stubEnv("http_proxy", `http://127.0.0.1:${await freePort()}`);
  for (const name of ["grpc_proxy", "https_proxy", "no_proxy", "no_grpc_proxy"]) vi.stubEnv(name, "");
  onTestFinished(() => void vi.unstubAllEnvs());
  const client = await peers().startClient(false, echo);
  expect(await client.reserve("3")).toMatchObject({ used: 3 });
});

describe.each([
  ["multiplexed", true],
  ["plain gRPC", false],
])("%s calls", (_, isMultiplexed) => {
  test("each concurrent call gets its own response", async () => {
    const { reserve } = await peers().startClient(isMultiplexed, echo);
    const responses = await Promise.all(numbers(100).map((n) => reserve(String(n))));
    expect(responses.map(({ used }) => used)).toEqual(numbers(100));
    expect(peers().receivedCalls).toHaveLength(100);
    expect(peers().countStreams()).toBe(isMultiplexed ? 1 : 100);
    expect(peers().receivedCalls.every(({ method }) => method === "parley.quota.v1.QuotaService/Reserve")).toBe(true);
  });

  test("a slow or failed call does not affect the others", async () => {
    const slow = Promise.withResolvers<{ used: number }>();
    const { reserve } = await peers().startClient(isMultiplexed, async (request, context) => {
      if (request.workspaceId === "1") return slow.promise;
      if (request.workspaceId === "2") throw new RpcError(status.NOT_FOUND, "workspace_not_found", "no such workspace");
      return echo(request, context);
    });
    const first = reserve("1");
    await expect(reserve("2")).rejects.toMatchObject({ status: status.NOT_FOUND, code: "workspace_not_found" });
    await expect(reserve("3")).resolves.toMatchObject({ used: 3 });
    slow.resolve({ used: 1 });
    await expect(first).resolves.toMatchObject({ used: 1 });
  });

  test("a deadline ends the call at the client and the server", async () => {
    const { reserve } = await peers().startClient(isMultiplexed, neverAnswer);
    // Long enough for the call to reach the server on a busy machine.
    await expect(reserve("1", { timeoutMs: 500 })).rejects.toMatchObject({ status: status.DEADLINE_EXCEEDED });
    await expect.poll(() => peers().receivedCalls.map(({ signal }) => signal.aborted)).toEqual([true]);
  });

  test("cancelling a call ends it at the client and the server, and ends no other call", async () => {
    const { reserve } = await peers().startClient(isMultiplexed, neverAnswer);
    const controllers = [new AbortController(), new AbortController()] as const;
    const calls: Promise<unknown>[] = [];
    for (const [n, { signal }] of controllers.entries()) {
      calls.push(reserve(`${n + 1}`, { ...OPTIONS, signal }));
      await expect.poll(() => peers().receivedCalls.length).toBe(n + 1);
    }
    for (const [n, controller] of controllers.entries()) {
      controller.abort();
      await expect(calls[n]).rejects.toMatchObject({ status: status.CANCELLED });
      await expect.poll(() => peers().receivedCalls.map(({ signal }) => signal.aborted)).toEqual([true, n === 1]);
    }
  });

  test("a caller that disconnects ends its calls at the server", async () => {
    const { reserve } = await peers().startClient(isMultiplexed, neverAnswer);
    const calls = numbers(10).map((n) => reserve(`${n + 1}`).catch(() => undefined));
    await expect.poll(() => peers().receivedCalls.length).toBe(10);
    const received = [...peers().receivedCalls];
    await peers().clientLifecycle.close();
    peers().proxy.resetAll();
    await expect.poll(() => received.every(({ signal }) => signal.aborted)).toBe(true);
    await Promise.all(calls);
  });

  test("a unary call is retried when the peer is unavailable", async () => {
    let refusals = 1;
    const { reserve } = await peers().startClient(isMultiplexed, (request, context) => {
      if (request.workspaceId === "1" && refusals-- > 0)
        throw new RpcError(status.UNAVAILABLE, "unavailable", "unavailable");
      return echo(request, context);
    });
    await expect(reserve("1")).resolves.toMatchObject({ used: 1 });
  });

  test("a call fails as unavailable if its first attempt may have succeeded, even if the retry is refused as overloaded", async () => {
    const failures = [
      new RpcError(status.UNAVAILABLE, "unavailable", "the database connection was lost"),
      new RpcError(status.RESOURCE_EXHAUSTED, "overloaded", "too many calls wait for the database"),
    ];
    const { reserve } = await peers().startClient(isMultiplexed, async (request, context) => {
      const failure = request.workspaceId === "1" ? failures.shift() : undefined;
      if (failure !== undefined) throw failure;
      return echo(request, context);
    });
    await expect(reserve("1")).rejects.toMatchObject({ status: status.UNAVAILABLE, code: "unavailable" });
    expect(failures).toEqual([]);
  });

  test("a stopping server answers its pending calls and stops although callers keep calling", async () => {
    const release = Promise.withResolvers<void>();
    const { reserve } = await peers().startClient(isMultiplexed, async (request, context) => {
      if (request.workspaceId === "100") await release.promise;
      return echo(request, context);
    });
    const pending = reserve("100");
    const stopCallers = new AbortController();
    const failures: unknown[] = [];
    const callers = numbers(8).map(async (n) => {
      while (!stopCallers.signal.aborted && failures.length === 0)
        await reserve(String(n)).catch((error: unknown) => failures.push(error));
    });
    await expect.poll(() => peers().receivedCalls.length).toBeGreaterThan(50);
    const startedAt = performance.now();
    const closed = peers().serverLifecycle.close();
    await sleep(300);
    release.resolve();
    expect(await pending).toMatchObject({ used: 100 });
    await closed;
    expect(performance.now() - startedAt).toBeLessThan(4_000);
    stopCallers.abort();
    await Promise.all(callers);
    // UNAVAILABLE, because there is no other replica to call.
    for (const error of failures) expect(error).toMatchObject({ status: status.UNAVAILABLE });
  });

  describe("with streamed responses", () => {
    const idsOf = (n: number) => numbers(50).map((each) => `${n} ${each}`);

    test("each concurrent call gets all its own responses in order", async () => {
      const { list } = await peers().startClient(isMultiplexed, echo, async function* ({ workspaceId }) {
        for (const id of idsOf(Number(workspaceId))) {
          yield { counted: [id] };
          if (Math.random() < 0.2) await sleep(1);
        }
      });
      const lists = await Promise.all(numbers(100).map((n) => readAll(list(String(n)))));
      expect(lists).toEqual(numbers(100).map(idsOf));
      expect(peers().countStreams()).toBe(isMultiplexed ? 1 : 100);
    });

    test("a slow reader pauses only its own handler, and misses nothing", async () => {
      let produced = 0;
      const total = 600;
      const item = (n: number) => "x".repeat(1_000) + n;
      const { list } = await peers().startClient(isMultiplexed, echo, async function* ({ workspaceId }) {
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
      const { list } = await peers().startClient(isMultiplexed, echo, async function* () {
        yield { counted: ["1"] };
        throw new RpcError(status.NOT_FOUND, "workspace_not_found", "no such workspace");
      });
      const responses = iterate(list("1"));
      expect((await responses.next()).value.counted).toEqual(["1"]);
      await expect(responses.next()).rejects.toMatchObject({ status: status.NOT_FOUND, code: "workspace_not_found" });
    });

    test("when the client stops reading, cancels or reaches the deadline, the call ends at the client and the server, and no other call ends", async () => {
      const { list } = await peers().startClient(isMultiplexed, echo, countForever);
      const controller = new AbortController();
      const other = iterate(list("other"));
      await other.next();
      for await (const _ of list("1")) break;
      const cancelled = readAll(list("2", { ...OPTIONS, signal: controller.signal }));
      await expect.poll(() => peers().receivedCalls.length).toBe(3);
      const expired = readAll(list("3", { timeoutMs: 500 }));
      setTimeout(() => controller.abort(), 50);
      await expect(cancelled).rejects.toMatchObject({ status: status.CANCELLED });
      await expect(expired).rejects.toMatchObject({ status: status.DEADLINE_EXCEEDED });
      await expect
        .poll(() => peers().receivedCalls.map(({ signal }) => signal.aborted))
        .toEqual([false, true, true, true]);
      expect((await other.next()).done).toBe(false);
      await other.return?.();
    });

    test("a lost connection fails its calls, and the next call connects again", async () => {
      const { list } = await peers().startClient(isMultiplexed, echo, countForever);
      const calls = numbers(5).map((n) => readAll(list(String(n))));
      await expect.poll(() => peers().receivedCalls.length).toBe(5);
      peers().proxy.resetAll();
      for (const call of calls) await expect(call).rejects.toMatchObject({ status: status.UNAVAILABLE });
      const next = iterate(list("next"));
      expect((await next.next()).done).toBe(false);
      await next.return?.();
    });
  });
});
