import { create } from "@bufbuild/protobuf";
import { Command } from "@commander-js/extra-typings";
import { BotAdminService } from "@parley/rpc/conversation";
import { ProviderAdminService, ToolSchema } from "@parley/rpc/llm";
import { expect, test } from "vitest";
import { AdminError } from "../../admin/call.ts";
import type { Context } from "../../context.ts";
import { addToolCommands } from "./tool.ts";

const TOOL = create(ToolSchema, { name: "order", kind: { case: "mcp", value: { url: "http://a" } } });

/** Runs `tool add` for a bot with a model. `defaultModel` is undefined if the caller may not read it. Returns the notices and the result. */
async function addTool(model: string, defaultModel?: string): Promise<{ notices: string[]; text: string }> {
  const notices: string[] = [];
  let text = "";
  const answer = (service: unknown) => {
    if (service === BotAdminService) return { bot: { model } };
    if (service !== ProviderAdminService) return { tool: TOOL };
    if (defaultModel === undefined) throw new AdminError("forbidden", "your role does not permit this call", undefined);
    return { defaultModel };
  };
  const client = (service: unknown) => new Proxy({}, { get: () => async () => answer(service) });
  const context = {
    callAdmin: (service: unknown, call: (client: object) => unknown) => call(client(service)),
    report: async (result: Promise<{ text: string }>) => {
      ({ text } = await result);
    },
    notice: (line: string) => notices.push(line),
    config: { filesDir: "." },
  } as unknown as Context;
  const program = new Command("parley");
  addToolCommands(program, context);
  const words = "tool add order --workspace w --bot b --mcp http://a";
  await program.parseAsync(words.split(" "), { from: "user" });
  return { notices, text };
}

const WARNING =
  "the bot's model builtin:extractive cannot call tools: choose another with parley bot update --workspace w --slug b --model M";

test.each([
  ["the bot's model is the built-in one", "builtin:extractive", undefined, [WARNING]],
  ["the bot has the installation's default model, which is the built-in one", "", "builtin:extractive", [WARNING]],
  ["the bot has a provider's model", "openai:gpt-4o-mini", "builtin:extractive", []],
  ["the bot has the installation's default model, which is a provider's", "", "openai:gpt-4o-mini", []],
  ["the caller may not read the installation's default model", "", undefined, []],
])(
  "tool add warns only if the model cannot call tools, and adds the tool: %s",
  async (_, model, defaultModel, notices) => {
    const result = await addTool(model, defaultModel);
    expect(result.notices).toEqual(notices);
    expect(result.text).toMatch(/^name +order\n/);
  },
);
