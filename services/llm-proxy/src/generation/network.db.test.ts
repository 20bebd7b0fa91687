import { type FakeProvider, startFakeProvider, startTcpProxy, type TcpProxy } from "@parley/test-support";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { startTestProxy, statusOf, type TestProxy } from "../testing/llm-proxy.ts";

let provider: FakeProvider;
let network: TcpProxy;
let proxy: TestProxy;
beforeAll(async () => {
  provider = await startFakeProvider();
  network = await startTcpProxy({ targetPort: provider.port });
  proxy = await startTestProxy({
    config: `
      default_model: fake:default
      providers:
        fake:
          base_url: http://127.0.0.1:${network.port}/v1
          timeouts: { first_token_ms: 5000, silence_ms: 5000 }
          retries: { base_delay_ms: 1, max_delay_ms: 2 }
          breaker: { failures: 1000 }
    `,
  });
});
afterAll(async () => {
  await proxy.drop();
  await network.close();
  await provider.close();
});
afterEach(async () => {
  await network.resume();
  provider.reset();
});

const TEXT = "Hello from the scripted provider, token by token.";

test("consecutive generations share one connection", async () => {
  network.resetAll();
  for (let call = 0; call < 5; call++) expect(statusOf(await proxy.generate())).toBe("COMPLETE");
  expect(network.connections()).toBe(1);
});

test("a generation retries after its idle connection was reset", async () => {
  await proxy.generate();
  network.resetAll();
  expect(statusOf(await proxy.generate())).toBe("COMPLETE");
});

test("a generation whose stream is cut after any number of bytes ends once, complete with the full text or failed", async () => {
  provider.script(() => ({ everyMs: 1 }));
  await proxy.generate();
  const before = network.bytes.down;
  await proxy.generate();
  const size = network.bytes.down - before;
  const statuses = new Set<string>();
  for (let bytes = 1; bytes <= size; bytes += 41) {
    network.cutAfterBytes(bytes);
    const events = await proxy.generate();
    expect(events.ends).toHaveLength(1);
    const status = statusOf(events);
    statuses.add(status);
    if (status === "COMPLETE") expect(events.text).toBe(TEXT);
    else expect(TEXT.startsWith(events.text)).toBe(true);
  }
  expect(statuses).toEqual(new Set(["COMPLETE", "PROVIDER_ERROR"]));
});

test("a generation times out when the network drops all packets", async () => {
  network.stall();
  const started = performance.now();
  expect(statusOf(await proxy.generate())).toBe("PROVIDER_TIMEOUT");
  expect(performance.now() - started).toBeLessThan(10_000);
});

test("a generation succeeds immediately when the network is back", async () => {
  await network.drop();
  expect(statusOf(await proxy.generate())).toBe("PROVIDER_ERROR");
  await network.resume();
  expect(statusOf(await proxy.generate())).toBe("COMPLETE");
});
