import { Code } from "@connectrpc/connect";
import { ToolAdminService } from "@parley/rpc/conversation";
import { describe, expect, onTestFinished, test } from "vitest";
import { createBotConfigCache } from "../bots/bot-configs.service.ts";
import type { Bot } from "../bots/bots.store.ts";
import { startTestLlm } from "../testing/llm.ts";
import { startTestService } from "../testing/service.ts";
import { adminFailure, countResultsOfConcurrentInserts, useTestSystem } from "../testing/system.ts";
import { botFields, createBot } from "../testing/turns.ts";

const system = useTestSystem();
const parameters = JSON.stringify({ type: "object", properties: { id: { type: "string" } }, required: ["id"] });
const http = (overrides = {}) => ({
  case: "http" as const,
  value: { description: "Finds an order.", method: "GET", url: "https://a.example/{id}", parameters, ...overrides },
});
const mcp = (url: string, only: string[] = []) => ({ case: "mcp" as const, value: { url, only } });

describe("tools", () => {
  test("are added, replaced by name, listed in the order of their names, and removed only through their own bot", async () => {
    const tools = system.createAdminClient(ToolAdminService);
    const [bot, other] = [await createBot(system.database), await createBot(system.database)];
    const put = (tool: NonNullable<Parameters<typeof tools.putTool>[0]["tool"]>) =>
      tools.putTool({ ...botFields(bot), tool });
    await put({ name: "shop", secret: "shop", kind: mcp("https://mcp.example.com/mcp", ["find"]) });
    await put({ name: "order", kind: http() });
    const { tool } = await put({ name: "order", secret: "orders", kind: http({ description: "Other." }) });
    expect(tool).toMatchObject({ name: "order", secret: "orders", kind: http({ description: "Other." }) });
    const list = async (of: Bot) => (await tools.listTools(botFields(of))).tools;
    expect(await list(bot)).toMatchObject([
      { name: "order", secret: "orders", kind: http({ description: "Other." }) },
      { name: "shop", secret: "shop", kind: mcp("https://mcp.example.com/mcp", ["find"]) },
    ]);
    expect(await list(other)).toEqual([]);
    const remove = (of: Bot, name: string) => tools.removeTool({ ...botFields(of), name });
    expect(await adminFailure(remove(other, "order"))).toMatchObject({
      code: Code.NotFound,
      parleyCode: "tool_not_found",
    });
    await remove(bot, "order");
    expect((await list(bot)).map((each) => each.name)).toEqual(["shop"]);
  });

  test("are described by llm-proxy", async () => {
    const llm = await startTestLlm();
    const service = await startTestService(system.databaseUrl, system.quota.target, { LLM_TARGET: llm.target });
    onTestFinished(async () => {
      await service.stop();
      llm.close();
    });
    const tools = service.createAdminClient(ToolAdminService);
    const bot = await createBot(system.database);
    await tools.putTool({ ...botFields(bot), tool: { name: "order", kind: http() } });
    expect((await tools.checkTools(botFields(bot))).tools).toMatchObject([{ name: "order", functions: ["order"] }]);
  });

  test.each([
    ["a request without a tool", undefined, "tool is missing"],
    ["a tool without a kind", { name: "x" }, "http or mcp"],
    ["a name with a character that models do not accept", { name: "a b", kind: http() }, "name must have"],
    ["a secret's name that is not valid", { name: "x", secret: "$KEY", kind: http() }, "tool_secrets"],
    [
      "a URL that lets the model choose the host",
      { name: "x", kind: http({ url: "https://{id}.example/" }) },
      "path or query",
    ],
    ["a schema that is not a JSON object", { name: "x", kind: http({ parameters: "[]" }) }, "JSON object"],
    ["an MCP server whose URL is not http", { name: "x", kind: mcp("stdio:server") }, "http://"],
  ])("PutTool refuses %s and names the reason", async (_, tool, named) => {
    const bot = await createBot(system.database);
    const put = system.createAdminClient(ToolAdminService).putTool({ ...botFields(bot), ...(tool && { tool }) });
    expect(await adminFailure(put)).toMatchObject({
      code: Code.InvalidArgument,
      message: expect.stringContaining(named),
    });
  });

  test("whose definition has a field of a newer version are still listed, and loaded for a turn", async () => {
    const tools = system.createAdminClient(ToolAdminService);
    const bot = await createBot(system.database);
    await tools.putTool({ ...botFields(bot), tool: { name: "order", kind: http() } });
    await system.admin.query(
      `UPDATE conversation.tools SET definition = definition || '{"newer": 1}' WHERE workspace_id = $1`,
      [bot.workspaceId],
    );
    expect((await tools.listTools(botFields(bot))).tools).toMatchObject([{ name: "order", kind: http() }]);
    const config = await createBotConfigCache(system.database)(bot.workspaceId, bot.id);
    expect(config?.tools).toMatchObject([{ name: "order", kind: http() }]);
  });

  test("are limited to 20 per bot", async () => {
    const tools = system.createAdminClient(ToolAdminService);
    const bot = await createBot(system.database);
    const put = (name: string) => tools.putTool({ ...botFields(bot), tool: { name, kind: http() } });
    for (let number = 0; number < 20; number++) await put(`t${number}`);
    expect(await adminFailure(put("more"))).toMatchObject({
      code: Code.ResourceExhausted,
      parleyCode: "too_many_tools",
    });
    // At the limit, a tool can still be replaced.
    await put("t7");
  });

  test("are not added beyond the limit by concurrent calls", async () => {
    const tools = system.createAdminClient(ToolAdminService);
    const bot = await createBot(system.database);
    const put = (name: string) => tools.putTool({ ...botFields(bot), tool: { name, kind: http() } });
    for (let number = 0; number < 19; number++) await put(`t${number}`);
    expect(await countResultsOfConcurrentInserts(system.admin, "conversation.tools", (n) => put(`c${n}`))).toEqual({
      ok: 1,
      too_many_tools: 19,
    });
  });
});
