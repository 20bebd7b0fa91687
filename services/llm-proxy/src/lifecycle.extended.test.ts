import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type FakeProvider, replaceFile, startFakeProvider } from "@parley/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually, startTestProxy, statusOf, type TestProxy } from "./testing/llm-proxy.ts";

let provider: FakeProvider;
beforeAll(async () => {
  provider = await startFakeProvider();
});
afterAll(() => provider.close());

const config = (url: string) => `
  default_model: fake:default
  providers: { fake: { base_url: "${url}" } }
`;

describe("a stopping service", () => {
  let proxy: TestProxy;
  const calls: Promise<string>[] = [];
  const turns = { short: randomUUID(), long: randomUUID() };
  beforeAll(async () => {
    proxy = await startTestProxy({ config: config(provider.url) });
    provider.reset();
    calls.push(proxy.generate({ model: "fake:tokens-10-every-60", turnId: turns.short }).then(statusOf));
    calls.push(proxy.generate({ model: "fake:tokens-1000-every-50", turnId: turns.long }).then(statusOf));
    await eventually(
      () => provider.requests.length,
      (length) => length === 2,
    );
    await proxy.close();
  });
  afterAll(() => proxy.drop());

  // The grace period is 2 s. The generations take 0.6 s and 50 s.
  test("completes a generation that ends within the grace period, and fails a longer one", async () => {
    expect(await Promise.all(calls)).toEqual(["COMPLETE", "PROVIDER_ERROR"]);
  });

  test("leaves no request to the provider open", () => {
    expect(
      provider.requests.filter((each) => each.endedAt === undefined && each.closedByClientAt === undefined),
    ).toEqual([]);
  });

  test("stores the call log rows of both generations", async () => {
    expect((await proxy.rowsOf("ws_test", turns.short))[0]).toMatchObject({ outcome: "complete" });
    expect((await proxy.rowsOf("ws_test", turns.long))[0]).toMatchObject({
      outcome: "provider_error",
      reason: "draining",
    });
  });
});

describe("a changed LLM_CONFIG", () => {
  test("applies without a restart and without ending running generations, and changes nothing when it is invalid", async () => {
    const other = await startFakeProvider();
    const proxy = await startTestProxy({ config: config(provider.url) });
    const urlOf = async (name: string) =>
      (await proxy.admin.providers.listProviders({})).providers.find((each) => each.name === name)?.baseUrl;
    const reloads = (result: string) => () =>
      proxy.metric(`parley_llm_config_reloads_total{result="${result}",service="llm-proxy"}`);
    try {
      const inFlight = proxy.generate({ model: "fake:tokens-40-every-100" });
      proxy.writeConfig(`${config(other.url)}\n  routes: { main: ["fake:default"] }`);
      await eventually(
        () => urlOf("fake"),
        (url) => url === other.url,
      );
      expect((await proxy.generate({ model: "route:main" })).end.model).toBe("fake:default");
      expect(other.requests).toHaveLength(1);
      expect(statusOf(await inFlight)).toBe("COMPLETE");
      proxy.writeConfig("providers: { fake: { base_url: 7 } }");
      await eventually(reloads("refused"), (count) => count === 1);
      expect(await urlOf("fake")).toBe(other.url);
      expect(statusOf(await proxy.generate())).toBe("COMPLETE");
    } finally {
      await proxy.drop();
      await other.close();
    }
  });
});

describe("a changed key file", () => {
  test("applies to new generations, and the previous key stays in use while the file is unusable", async () => {
    const folder = await mkdtemp(join(tmpdir(), "llm-proxy-keys-"));
    const file = join(folder, "FAKE_KEY");
    await replaceFile(file, "sk-old\n");
    const proxy = await startTestProxy({
      config: `{ default_model: "fake:default", providers: { fake: { base_url: "${provider.url}", api_key_env: FAKE_KEY } } }`,
      environment: { FAKE_KEY_FILE: file },
    });
    const keyOfNextGeneration = async () => {
      expect(statusOf(await proxy.generate())).toBe("COMPLETE");
      return provider.requests.at(-1)?.headers.authorization;
    };
    const refused = () => proxy.metric('parley_reloads_refused_total{file="FAKE_KEY",service="llm-proxy"}');
    try {
      expect(await keyOfNextGeneration()).toBe("Bearer sk-old");
      const inFlight = proxy.generate({ model: "fake:tokens-100-every-100" });
      await replaceFile(file, "sk-new\n");
      await eventually(keyOfNextGeneration, (key) => key === "Bearer sk-new");
      expect(statusOf(await inFlight)).toBe("COMPLETE");
      expect(await refused()).toBe(0);
      await replaceFile(file, "");
      await eventually(refused, (count) => Number(count) > 0);
      expect(await keyOfNextGeneration()).toBe("Bearer sk-new");
      // While the key file is unusable, reloaded settings use the previous key too.
      proxy.writeConfig(
        `{ providers: { next: { base_url: "${provider.url}", api_key_env: FAKE_KEY } }, default_model: "next:default" }`,
      );
      await eventually(
        async () => (await proxy.generate()).end.model,
        (model) => model === "next:default",
      );
      expect(await keyOfNextGeneration()).toBe("Bearer sk-new");
      expect(await proxy.metric('parley_llm_config_reloads_total{result="refused",service="llm-proxy"}')).toBe(0);
    } finally {
      await proxy.drop();
      await rm(folder, { recursive: true });
    }
  });
});
