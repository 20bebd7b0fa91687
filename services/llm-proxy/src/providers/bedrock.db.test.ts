import { randomUUID } from "node:crypto";
import { Role } from "@parley/rpc/llm";
import { type FakeProvider, startFakeProvider, startToolServer, type ToolServer } from "@parley/test-support";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { startAwsCloud } from "../testing/aws-cloud.ts";
import { startTestProxy, statusOf, type TestProxy } from "../testing/llm-proxy.ts";
import type { TokenService } from "../testing/token-service.ts";

let provider: FakeProvider;
let tools: ToolServer;
let cloud: TokenService;
let proxy: TestProxy;
beforeAll(async () => {
  [provider, tools] = await Promise.all([startFakeProvider(), startToolServer()]);
  cloud = await startAwsCloud();
  const settings = `kind: bedrock, base_url: "${provider.url}", retries: { max_attempts: 1 }`;
  proxy = await startTestProxy({
    environment: { EGRESS_ALLOW: "127.0.0.1" },
    config: `
      providers:
        bedrock: { ${settings}, region: eu-central-1 }
        sovereign: { ${settings}, region: eusc-de-east-1 }
        cold: { ${settings}, region: us-east-1 }
        other: { base_url: "${provider.url}" }
      routes:
        cold-first: ["cold:m", "other:m"]
      tools: { max_rounds: 1 }
    `,
  });
});
afterAll(async () => {
  await proxy.drop();
  await Promise.all([provider.close(), tools.close(), cloud.close()]);
});
beforeEach(() => provider.reset());

const CLAUDE = "eu.anthropic.claude-sonnet-4-5-20250929-v1:0";

test("signs requests with the role of the pod's service account, and asks for its credentials once", async () => {
  for (let i = 0; i < 2; i++) expect(statusOf(await proxy.generate({ model: `bedrock:${CLAUDE}` }))).toBe("COMPLETE");
  for (const { headers, model } of provider.requests) {
    expect(model).toBe(CLAUDE);
    expect(headers.authorization).toMatch(
      /^AWS4-HMAC-SHA256 Credential=ASIAOFTHEROLE\/\d{8}\/eu-central-1\/bedrock\/aws4_request, /,
    );
    expect(headers["x-amz-security-token"]).toBe("token-of-the-role");
  }
  expect(cloud.requests).toHaveLength(1);
  expect(Object.fromEntries(new URLSearchParams(cloud.requests[0]))).toMatchObject({
    Action: "AssumeRoleWithWebIdentity",
    RoleArn: "arn:aws:iam::123456789012:role/parley",
    WebIdentityToken: "token-of-the-pod",
  });
});

test("signs requests for the region of another partition of AWS", async () => {
  expect(statusOf(await proxy.generate({ model: `sovereign:${CLAUDE}` }))).toBe("COMPLETE");
  expect(provider.requests[0]?.headers.authorization).toContain("/eusc-de-east-1/bedrock/aws4_request");
});

test("marks what Bedrock caches, for the models that accept it", async () => {
  const messages = [{ role: Role.USER, content: "Where is my order?" }];
  for (const model of [CLAUDE, "amazon.nova-lite-v1:0", "anthropic.claude-3-haiku-20240307-v1:0", "meta.llama3-1-8b"])
    await proxy.generate({ model: `bedrock:${model}`, prompt: { system: "Be kind.", messages } });
  const marks = provider.requests.map(({ body }) => JSON.stringify(body).includes("cachePoint"));
  expect(marks).toEqual([true, true, false, false]);
});

test("when the model may call no more tools, it gets the results of its calls without the tools", async () => {
  provider.script([{ toolCalls: [{ name: "order", arguments: '{"id":"A1"}' }] }, { tokens: ["Sent."] }]);
  tools.respondWith(() => ({ body: '{"state":"sent"}' }));
  const parameters = JSON.stringify({ type: "object", properties: { id: { type: "string" } }, required: ["id"] });
  const value = { description: "Finds an order.", method: "GET", url: `${tools.url}/orders/{id}`, parameters };
  const { text } = await proxy.generate({
    model: `bedrock:${CLAUDE}`,
    prompt: {
      messages: [{ role: Role.USER, content: "Where is my order?" }],
      tools: [{ name: "order", kind: { case: "http", value } }],
    },
  });
  expect(text).toBe("Sent.");
  const [first, last] = provider.requests.map(({ body }) => JSON.stringify(body));
  expect(first).toContain("toolConfig");
  expect(last).not.toContain("toolConfig");
  expect(last).toMatch(/Where is my order\?.*A1.*sent/);
});

test("a frame with a wrong checksum is an error", async () => {
  const headers = { "content-type": "application/vnd.amazon.eventstream" };
  provider.script([{ headers, body: `\0\0\0\u0010${"\0".repeat(12)}` }]);
  const turnId = randomUUID();
  await proxy.generate({ turnId, model: "bedrock:m" });
  const [row] = await proxy.rowsOf("ws_test", turnId);
  expect(row?.reason).toBe("malformed");
});

test("without credentials, fails over, and the call log has no token", async () => {
  cloud.refuse();
  const turnId = randomUUID();
  const { end } = await proxy.generate({ turnId, model: "route:cold-first" });
  expect(end.model).toBe("other:m");
  const [row] = await proxy.rowsOf("ws_test", turnId);
  expect(row?.tries[0]).toMatchObject({ outcome: "provider_auth", reason: "credentials", providerMessage: "" });
  expect(JSON.stringify(row)).not.toContain("token-of-the-pod");
});
