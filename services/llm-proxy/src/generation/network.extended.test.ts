import { expect, test } from "vitest";
import { statusOf } from "../testing/llm-proxy.ts";
import { useProxiedProvider } from "../testing/proxied-provider.ts";

const system = useProxiedProvider();

test("a generation times out within 10 s when the network transmits nothing", async () => {
  system.network.stall();
  const started = performance.now();
  expect(statusOf(await system.llmProxy.generate())).toBe("PROVIDER_TIMEOUT");
  expect(performance.now() - started).toBeLessThan(10_000);
});
