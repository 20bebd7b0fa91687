import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { create } from "@bufbuild/protobuf";
import { ToolSchema } from "@parley/rpc/llm";
import { createLogger, EgressPolicy, Lifecycle } from "@parley/service-kit";
import { startMcpServer } from "@parley/test-support";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Settings } from "../settings/index.ts";
import { ToolboxFactory } from "./tools.service.ts";

const TURN = { workspaceId: "ws", turnId: "0195c1f0-0000-7000-8000-000000000001" };
const TOOL_LIMITS = { maxCalls: 8, maxRounds: 4, timeoutMs: 10_000, maxResultBytes: 8_192 };

function createFactory() {
  const log = createLogger("test", "silent");
  const warn = vi.spyOn(log, "warn");
  const lifecycle = new Lifecycle(log);
  onTestFinished(async () => void (await lifecycle.close()));
  const factory = new ToolboxFactory(
    {
      egress: { policy: new EgressPolicy(["127.0.0.1/32"]) },
      settings: () => ({ toolLimits: TOOL_LIMITS, toolSecrets: {} }) as unknown as Settings,
      metrics: { toolCalls: { inc: () => undefined }, toolDuration: { observe: () => undefined } } as never,
      log,
      now: () => performance.now(),
    },
    lifecycle,
  );
  const listOfferedNames = async (names: readonly string[], turn = TURN) => {
    const http = {
      description: "Finds.",
      method: "GET",
      url: "https://tools.example",
      parameters: '{"type":"object"}',
    };
    const tools = names.map((name) => create(ToolSchema, { name, kind: { case: "http", value: http } }));
    const toolbox = await factory.openToolbox(tools, turn, new AbortController().signal);
    return toolbox.functions.map(({ name }) => name);
  };
  return { factory, listOfferedNames, warn };
}

test("omits functions after the 64th and functions with a repeated name, and logs the same omissions once per workspace", async () => {
  const { listOfferedNames, warn } = createFactory();
  const tools = Array.from({ length: 66 }, (_, index) => `t${index}`);
  for (let turn = 0; turn < 2; turn++) expect(await listOfferedNames(["t0", ...tools])).toEqual(tools.slice(0, 64));
  const tooMany = "a bot offers at most 64 functions";
  const functions = [
    { name: "t0", reason: "another function has this name" },
    { name: "t64", reason: tooMany },
    { name: "t65", reason: tooMany },
  ];
  const omitted = { workspace_id: "ws", functions, omitted: 3 };
  expect(warn.mock.calls).toEqual([[omitted, "tool functions omitted"]]);
  await listOfferedNames(["t0", ...tools], { ...TURN, workspaceId: "other" });
  expect(warn.mock.calls.slice(1)).toEqual([[{ ...omitted, workspace_id: "other" }, "tool functions omitted"]]);
});

test("omits the functions that would make the prompt too large, and offers smaller ones after them", async () => {
  const { factory, warn } = createFactory();
  const describe = (characters: number) =>
    JSON.stringify({ type: "object", properties: { x: { type: "string", description: "x".repeat(characters) } } });
  const tools = [...Array.from({ length: 9 }, () => 16_000), 10].map((characters, index) => {
    const value = {
      description: "Finds.",
      method: "GET",
      url: "https://tools.example",
      parameters: describe(characters),
    };
    return create(ToolSchema, { name: `t${index}`, kind: { case: "http", value } });
  });
  const toolbox = await factory.openToolbox(tools, TURN, new AbortController().signal);
  expect(toolbox.functions.map(({ name }) => name)).toEqual(["t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7", "t9"]);
  const functions = [{ name: "t8", reason: "the bot's functions together have more than 131072 characters" }];
  expect(warn.mock.calls[0]).toEqual([{ workspace_id: "ws", functions, omitted: 1 }, "tool functions omitted"]);
});

test("omits each function of an MCP server that cannot be offered, and describes it with the reason", async () => {
  const call = () => ({ content: [] });
  const server = await startMcpServer([
    { name: "good", inputSchema: { type: "object" }, call },
    { name: "too_large", inputSchema: { type: "object", description: "x".repeat(16_385) }, call },
    { name: "invalid", inputSchema: { type: "object", properties: { x: { type: "int" } } }, call },
    { name: "list", inputSchema: { type: "array" } as never, call },
    { name: "", call },
    { name: "good", call },
    { name: "not_selected", inputSchema: { type: "array" } as never, call },
    { name: "a.b", description: "📦".repeat(1_000), inputSchema: null as never, call },
    { name: "a b", call },
  ]);
  onTestFinished(() => server.close());
  const { factory, warn } = createFactory();
  const only = ["good", "too_large", "invalid", "list", "a.b", "a b", ""];
  const tool = create(ToolSchema, { name: "shop", kind: { case: "mcp", value: { url: server.url, only } } });
  const toolbox = await factory.openToolbox([tool], TURN, new AbortController().signal);
  onTestFinished(() => toolbox.close());
  const names = toolbox.functions.map(({ name }) => name);
  expect(names).toEqual([
    "shop__good",
    expect.stringMatching(/^shop__a_b_\w{8}$/),
    expect.stringMatching(/^shop__a_b_\w{8}$/),
  ]);
  const [good, longest, unnamed] = toolbox.functions;
  expect(good).toEqual({
    name: "shop__good",
    description: "good",
    parameters: { type: "object", properties: {}, required: [] },
  });
  expect(longest?.description).toMatch(/^(📦)+…$/u);
  expect(longest?.description.length).toBeLessThanOrEqual(1_024);
  expect(unnamed?.description).toBe("a b");
  const omitted = [
    { name: "too_large", reason: "parameters must have at most 16384 characters" },
    { name: "invalid", reason: expect.stringContaining("must be equal to one of the allowed values") },
    { name: "list", reason: "the arguments of a tool must be an object" },
    { name: "", reason: "its name must have 1 to 128 characters" },
    { name: "good", reason: "the server lists two tools of this name" },
  ];
  expect(warn.mock.calls).toEqual([[{ workspace_id: "ws", functions: omitted, omitted: 5 }, "tool functions omitted"]]);
  const described = await factory.describeTools([tool], TURN, new AbortController().signal);
  expect(described).toEqual([{ name: "shop", functions: names, omitted, failure: "" }]);
});

test("describes why a tool cannot be used", async () => {
  const { factory } = createFactory();
  const mcp = (name: string, url: string, secret = "") =>
    create(ToolSchema, { name, secret, kind: { case: "mcp", value: { url, only: [] } } });
  const http = { description: "Finds.", method: "GET", url: "https://tools.example", parameters: '{"type":"array"}' };
  const tools = [
    mcp("gone", "http://127.0.0.1:65000/mcp"),
    mcp("forbidden", "http://127.0.0.2:65000/mcp"),
    mcp("secret", "http://127.0.0.1:65000/other", "unknown"),
    create(ToolSchema, { name: "order", kind: { case: "http", value: http } }),
  ];
  const described = await factory.describeTools(tools, TURN, new AbortController().signal);
  expect(described.map(({ name, failure, omitted }) => [name, failure, omitted])).toEqual([
    ["gone", "the tool cannot be reached", []],
    ["forbidden", "the tool cannot be reached", []],
    ["secret", "the tool is not available (the secret unknown is not declared)", []],
    ["order", "", [{ name: "order", reason: 'parameters must be a JSON Schema of "type": "object"' }]],
  ]);
});

test("an owner's tool does not reach the addresses in EGRESS_ALLOW", async () => {
  const requests: unknown[] = [];
  const server = createServer((request, response) => {
    requests.push(request.url);
    response.setHeader("content-type", "text/plain").end("found");
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/orders`;
  const { factory } = createFactory();
  const value = { description: "Finds.", method: "GET", url, parameters: '{"type":"object"}' };
  const tools = [true, false].map((byOwner) =>
    create(ToolSchema, { name: byOwner ? "owners" : "operators", byOwner, kind: { case: "http", value } }),
  );
  const { signal } = new AbortController();
  const toolbox = await factory.openToolbox(tools, TURN, signal);
  const call = async (name: string) => {
    const { result } = await toolbox.call({ id: "1", name, arguments: "{}" }, signal);
    return result;
  };
  expect(await call("operators")).toContain("found");
  expect(await call("owners")).toContain("cannot be reached");
  expect(requests).toEqual(["/orders"]);
});

test("logs nothing when every function is offered", async () => {
  const { listOfferedNames, warn } = createFactory();
  expect(await listOfferedNames(["a", "b"])).toEqual(["a", "b"]);
  expect(warn).not.toHaveBeenCalled();
});
