import { expect, test } from "vitest";
import { statusOf } from "../testing/llm-proxy.ts";
import { useProxiedProvider } from "../testing/proxied-provider.ts";

const system = useProxiedProvider();

test("a generation times out when the network transmits nothing", async () => {
  system.network.stall();
  expect(statusOf(await system.llmProxy.generate())).toBe("PROVIDER_TIMEOUT");
});
