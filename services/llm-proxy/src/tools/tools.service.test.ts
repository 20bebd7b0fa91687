import { create } from "@bufbuild/protobuf";
import { ToolSchema } from "@parley/rpc/llm";
import { createLogger, EgressPolicy, Lifecycle } from "@parley/service-kit";
import { startMcpServer } from "@parley/test-support";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Settings } from "../settings/index.ts";
import { ToolboxFactory } from "./tools.service.ts";

const TURN = { workspaceId: "ws", turnId: "0195c1f0-0000-7000-8000-000000000001" };
const TOOL_LIMITS = { maxCalls: 8, maxRounds: 4, timeoutMs: 10_000, maxResultBytes: 8_192 };

/** The limits that the log line names. */
const LOGGED_LIMITS = { max_functions: 64, max_schema_characters: 16_384 };

function createFactory() {
  const log = createLogger("test", "silent");
  const warn = vi.spyOn(log, "warn");
  const lifecycle = new Lifecycle(log);
  onTestFinished(async () => void (await lifecycle.close()));
  const factory = new ToolboxFactory(
    {
      egress: { policy: new EgressPolicy(["127.0.0.1/32"]) },
      settings: () => ({ toolLimits: TOOL_LIMITS, toolSecrets: {} }) as unknown as Settings,
      metrics: {} as never,
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
  const omitted = { workspace_id: "ws", functions: ["t0", "t64", "t65"], omitted: 3, ...LOGGED_LIMITS };
  expect(warn.mock.calls).toEqual([[omitted, "tool functions omitted"]]);
  await listOfferedNames(["t0", ...tools], { ...TURN, workspaceId: "other" });
  expect(warn.mock.calls.slice(1)).toEqual([[{ ...omitted, workspace_id: "other" }, "tool functions omitted"]]);
});

test("omits and logs an MCP server's functions whose schema is too large", async () => {
  const schemaOf = (length: number) => {
    const schema = { type: "object" as const, description: "" };
    return { ...schema, description: "x".repeat(length - JSON.stringify(schema).length) };
  };
  const server = await startMcpServer([
    { name: "largest", inputSchema: schemaOf(16_384), call: () => ({ content: [] }) },
    { name: "too_large", inputSchema: schemaOf(16_385), call: () => ({ content: [] }) },
  ]);
  onTestFinished(() => server.close());
  const { factory, warn } = createFactory();
  const tool = create(ToolSchema, { name: "shop", kind: { case: "mcp", value: { url: server.url, only: [] } } });
  const toolbox = await factory.openToolbox([tool], TURN, new AbortController().signal);
  onTestFinished(() => toolbox.close());
  expect(toolbox.functions.map(({ name }) => name)).toEqual(["shop__largest"]);
  const omitted = { workspace_id: "ws", functions: ["shop__too_large"], omitted: 1, ...LOGGED_LIMITS };
  expect(warn.mock.calls).toEqual([[omitted, "tool functions omitted"]]);
});

test("logs nothing when every function is offered", async () => {
  const { listOfferedNames, warn } = createFactory();
  expect(await listOfferedNames(["a", "b"])).toEqual(["a", "b"]);
  expect(warn).not.toHaveBeenCalled();
});
