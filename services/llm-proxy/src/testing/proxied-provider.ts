import { type FakeProvider, startFakeProvider, startTcpProxy, type TcpProxy } from "@parley/test-support";
import { afterAll, afterEach, beforeAll } from "vitest";
import { startTestProxy, type TestProxy } from "./llm-proxy.ts";

export type ProxiedProvider = {
  provider: FakeProvider;
  /** The network between the llm-proxy and the provider. */
  network: TcpProxy;
  llmProxy: TestProxy;
};

/** Starts a fake provider and an llm-proxy that calls it through a TCP proxy, before the tests of a file. */
export function useProxiedProvider(): ProxiedProvider {
  const system = {} as ProxiedProvider;
  beforeAll(async () => {
    system.provider = await startFakeProvider();
    system.network = await startTcpProxy({ targetPort: system.provider.port });
    system.llmProxy = await startTestProxy({
      config: `
        default_model: fake:default
        providers:
          fake:
            base_url: http://127.0.0.1:${system.network.port}/v1
            timeouts: { first_token_ms: 5000, silence_ms: 5000 }
            retries: { base_delay_ms: 1, max_delay_ms: 2 }
            breaker: { failures: 1000 }
      `,
    });
  });
  afterAll(async () => {
    await system.llmProxy.drop();
    await system.network.close();
    await system.provider.close();
  });
  afterEach(async () => {
    await system.network.resume();
    system.provider.reset();
  });
  return system;
}
