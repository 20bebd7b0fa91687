import { expect, test } from "vitest";
import { statusOf } from "../testing/llm-proxy.ts";
import { useProxiedProvider } from "../testing/proxied-provider.ts";

const system = useProxiedProvider();

const TEXT = "Hello from the scripted provider, token by token.";

test("consecutive generations share one connection", async () => {
  system.network.resetAll();
  for (let call = 0; call < 5; call++) expect(statusOf(await system.llmProxy.generate())).toBe("COMPLETE");
  expect(system.network.connections()).toBe(1);
});

test("a generation succeeds after the idle connection was reset", async () => {
  await system.llmProxy.generate();
  system.network.resetAll();
  expect(statusOf(await system.llmProxy.generate())).toBe("COMPLETE");
});

test("a generation ends exactly once wherever its stream is cut: complete with the full text, or failed", async () => {
  system.provider.script(() => ({ everyMs: 1 }));
  await system.llmProxy.generate();
  const before = system.network.bytes.down;
  await system.llmProxy.generate();
  const size = system.network.bytes.down - before;
  const statuses = new Set<string>();
  for (let bytes = 1; bytes <= size; bytes += 41) {
    system.network.cutAfterBytes(bytes);
    const events = await system.llmProxy.generate();
    const status = statusOf(events);
    statuses.add(status);
    if (status === "COMPLETE") expect(events.text).toBe(TEXT);
    else expect(TEXT.startsWith(events.text)).toBe(true);
  }
  expect(statuses).toEqual(new Set(["COMPLETE", "PROVIDER_ERROR"]));
});

test("the first generation after a network outage succeeds", async () => {
  await system.network.drop();
  expect(statusOf(await system.llmProxy.generate())).toBe("PROVIDER_ERROR");
  await system.network.resume();
  expect(statusOf(await system.llmProxy.generate())).toBe("COMPLETE");
});
