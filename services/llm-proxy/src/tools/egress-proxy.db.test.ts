import type { MessageInitShape } from "@bufbuild/protobuf";
import { Role, type ToolSchema } from "@parley/rpc/llm";
import {
  type ConnectProxy,
  type FakeProvider,
  type ReceivedRequest,
  startConnectProxy,
  startFakeProvider,
  startMcpServer,
  startToolServer,
} from "@parley/test-support";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { startTestProxy, type TestProxy } from "../testing/llm-proxy.ts";

// A public address. No test connects to it: startConnectProxy connects every tunnel to 127.0.0.1.
const PUBLIC = "93.184.215.14";

let provider: FakeProvider;
let egressProxy: ConnectProxy;
let llmProxy: TestProxy;
beforeAll(async () => {
  [provider, egressProxy] = await Promise.all([startFakeProvider(), startConnectProxy()]);
  llmProxy = await startTestProxy({
    environment: { EGRESS_PROXY: egressProxy.url },
    config: `{ default_model: "fake:default", providers: { fake: { base_url: "${provider.url}" } } }`,
  });
});
afterAll(async () => {
  await llmProxy.drop();
  await Promise.all([provider.close(), egressProxy.close()]);
});
beforeEach(() => {
  egressProxy.authorities.length = 0;
});

type Message = { role: string; content: string };
const lastMessageOf = ({ body }: ReceivedRequest) => (body as { messages: Message[] }).messages.at(-1);

/** Lets the model call a function of the tool. Returns the model's reply, which repeats the tool's result. */
async function call(functionName: string, tool: MessageInitShape<typeof ToolSchema>): Promise<string> {
  provider.script((request) =>
    lastMessageOf(request)?.role === "tool"
      ? { tokens: [lastMessageOf(request)?.content ?? ""] }
      : { toolCalls: [{ name: functionName, arguments: "{}" }] },
  );
  const messages = [{ role: Role.USER, content: "Where is it?" }];
  return (await llmProxy.generate({ prompt: { tools: [tool], messages } })).text;
}

const httpTool = (url: string): MessageInitShape<typeof ToolSchema> => ({
  name: "order",
  kind: {
    case: "http",
    value: { description: "Finds an order.", method: "GET", url, parameters: '{"type":"object"}' },
  },
});

test("an HTTP tool at a public address is called through EGRESS_PROXY, and the provider is called directly", async () => {
  const server = await startToolServer();
  onTestFinished(() => server.close());
  expect(await call("order", httpTool(`http://${PUBLIC}:${server.port}/orders`))).toBe('{"ok":true}');
  expect(egressProxy.authorities).toEqual([`${PUBLIC}:${server.port}`]);
  expect(server.requests).toMatchObject([{ url: "/orders", headers: { host: `${PUBLIC}:${server.port}` } }]);
});

test("a call of a tool at a private address is refused without a request to EGRESS_PROXY", async () => {
  expect(await call("order", httpTool("http://10.0.0.1/orders"))).not.toContain("ok");
  expect(egressProxy.authorities).toEqual([]);
});

test("an MCP server at a public address is called through EGRESS_PROXY", async () => {
  const server = await startMcpServer([
    { name: "find", call: () => ({ content: [{ type: "text", text: "it was sent" }] }) },
  ]);
  onTestFinished(() => server.close());
  const { port } = new URL(server.url);
  const url = server.url.replace("127.0.0.1", PUBLIC);
  expect(await call("shop__find", { name: "shop", kind: { case: "mcp", value: { url, only: [] } } })).toBe(
    "it was sent",
  );
  expect(new Set(egressProxy.authorities)).toEqual(new Set([`${PUBLIC}:${port}`]));
});
