import { randomUUID } from "node:crypto";
import { type FakeProvider, startFakeProvider } from "@parley/test-support";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type AzureCloud, startAzureCloud } from "../testing/azure-cloud.ts";
import { eventually, startTestProxy, statusOf, type TestProxy } from "../testing/llm-proxy.ts";

let provider: FakeProvider;
let cloud: AzureCloud;
let proxy: TestProxy;
beforeAll(async () => {
  provider = await startFakeProvider();
  cloud = await startAzureCloud();
  const settings = `kind: azure, base_url: "${provider.url.replace("/v1", "/openai/v1")}", retries: { max_attempts: 1 }`;
  proxy = await startTestProxy({
    config: `
      providers:
        azure: { ${settings} }
        government: { ${settings}, cloud: us-government }
        china: { ${settings}, cloud: china }
        warm: { ${settings} }
        cold: { ${settings} }
        slow: { ${settings}, timeouts: { first_token_ms: 700 } }
        other: { base_url: "${provider.url}" }
      routes:
        cold-first: ["cold:support", "other:m"]
      embeddings: { model: "azure:text-embedding-3-small" }
    `,
  });
});
afterAll(async () => {
  await proxy.drop();
  await Promise.all([provider.close(), cloud.close()]);
});
beforeEach(() => {
  provider.reset();
  cloud.requests.length = 0;
});

const sentTokens = () => provider.requests.map(({ headers }) => headers.authorization);
const fieldsOf = (body = "") => Object.fromEntries(new URLSearchParams(body));

test("gets one token for replies that begin at once, with the identity of the pod, and keeps it", async () => {
  const replies = await Promise.all([1, 2, 3].map(() => proxy.generate({ model: "azure:support" })));
  expect(replies.map(statusOf)).toEqual(["COMPLETE", "COMPLETE", "COMPLETE"]);
  await proxy.generate({ model: "azure:support" });
  await proxy.embed(["Hello"]);
  expect(new Set(sentTokens())).toEqual(new Set(["Bearer token-of-azure-1"]));
  expect(provider.requests[0]).toMatchObject({ model: "support" });
  expect(cloud.requests.map(fieldsOf)).toMatchObject([
    {
      grant_type: "client_credentials",
      client_id: "00000000-0000-4000-8000-000000000002",
      client_assertion: "token-of-the-pod",
      scope: "https://cognitiveservices.azure.com/.default",
    },
  ]);
});

test.each([
  ["government", "https://cognitiveservices.azure.us/.default"],
  ["china", "https://cognitiveservices.azure.cn/.default"],
])("asks for a token of the cloud %s, and renews it before it expires", async (name, scope) => {
  // A token that expires within a minute is not used any more.
  cloud.setLifetime(30);
  for (let i = 0; i < 2; i++) expect(statusOf(await proxy.generate({ model: `${name}:support` }))).toBe("COMPLETE");
  cloud.setLifetime(3_600);
  expect(cloud.requests.map((body) => fieldsOf(body).scope)).toEqual([scope, scope]);
  expect(new Set(sentTokens()).size).toBe(2);
});

test("a token that is still valid is used if the token service refuses to renew it", async () => {
  cloud.setLifetime(120);
  expect(statusOf(await proxy.generate({ model: "warm:support" }))).toBe("COMPLETE");
  cloud.setLifetime(3_600);
  cloud.refuse();
  expect(statusOf(await proxy.generate({ model: "warm:support" }))).toBe("COMPLETE");
  await eventually(
    () => cloud.requests.length,
    (count) => count > 1,
  );
  expect(new Set(sentTokens()).size).toBe(1);
});

test("a token service that does not answer ends with the reply's timeout, and a cancelled reply ends at once", async () => {
  cloud.hang();
  const turnId = randomUUID();
  const startedAt = performance.now();
  await proxy.generate({ turnId, model: "slow:support" });
  expect(performance.now() - startedAt).toBeLessThan(5_000);
  const [row] = await proxy.rowsOf("ws_test", turnId);
  expect([row?.outcome, row?.reason]).toEqual(["provider_timeout", "first_token_timeout"]);
  const controller = new AbortController();
  const aborted = proxy.generate({ model: "slow:support", signal: controller.signal });
  await eventually(
    () => cloud.requests.length,
    (count) => count > 0,
  );
  const abortedAt = performance.now();
  controller.abort();
  await expect(aborted).rejects.toThrow();
  expect(performance.now() - abortedAt).toBeLessThan(1_000);
  expect(provider.requests).toEqual([]);
});

test("a refused token fails over, and the call log has Azure's code and no token", async () => {
  cloud.refuse();
  const turnId = randomUUID();
  const { end } = await proxy.generate({ turnId, model: "route:cold-first" });
  expect(end.model).toBe("other:m");
  const [row] = await proxy.rowsOf("ws_test", turnId);
  const expected = { outcome: "provider_auth", reason: "credentials", providerMessage: "AADSTS700211" };
  expect(row?.tries[0]).toMatchObject(expected);
  expect(JSON.stringify(row)).not.toContain("token-of-the-pod");
});
