import { resolve } from "node:path";
import { type CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import { BotAdminService, ToolAdminService } from "@parley/rpc/conversation";
import {
  ProviderAdminService,
  type Tool,
  type ToolDescription,
  ToolDescriptionSchema,
  ToolSchema,
} from "@parley/rpc/llm";
import { charsetByMark } from "@parley/service-kit/text";
import { requireField } from "../../admin/require-field.ts";
import type { Context } from "../../context.ts";
import { CliError } from "../../errors.ts";
import { messageToJson } from "../../output/json.ts";
import { formatFields, formatTable } from "../../output/table.ts";
import { appendValue, botOption, workspaceOption } from "../options.ts";
import { readInputFile } from "../read-input-file.ts";

const NO_ARGUMENTS_SCHEMA = JSON.stringify({ type: "object", properties: {}, additionalProperties: false });

/** The models of llm-proxy's built-in provider. They only search the bot's knowledge. */
const BUILTIN_MODELS = /^builtin:/;

export function addToolCommands(program: CommandUnknownOpts, context: Context): void {
  const { callAdmin, report, config } = context;
  const group = program.command("tool").description("Manage the tools that a bot may call.");

  group
    .command("add")
    .description("Add or replace a tool, effective within 5 s.")
    .argument("<name>", "Set the tool's name.")
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .addOption(new Option("--url <url>", "Set the HTTP URL, with arguments as {name}.").conflicts(["mcp", "only"]))
    .option("--method <method>", "Set the HTTP method (default: GET).")
    .option("--description <text>", "Describe the tool to the model.")
    .option("--parameters <json>", "Set the arguments' JSON Schema, or @FILE.")
    .addOption(
      new Option("--mcp <url>", "Set a streamable HTTP MCP server's URL.").conflicts([
        "method",
        "description",
        "parameters",
      ]),
    )
    .option("--only <tool>", "Allow this MCP tool, repeatable (default: all).", appendValue)
    .option("--secret <name>", "Choose a tool secret from LLM_CONFIG.")
    .action((name, options) =>
      report(
        callAdmin(ToolAdminService, async (service) => {
          const { workspace: workspaceId, bot: botSlug, secret = "" } = options;
          const tool = { name, secret, kind: await readToolKind(options, config.filesDir) };
          const added = requireField((await service.putTool({ workspaceId, botSlug, tool })).tool);
          await warnWithoutToolCalls(context, workspaceId, botSlug);
          return { json: messageToJson(ToolSchema, added), text: describe(added) };
        }),
      ),
    );

  group
    .command("list")
    .description("List a bot's tools.")
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .action(({ workspace: workspaceId, bot: botSlug }) =>
      report(
        callAdmin(ToolAdminService, async (service) => {
          const { tools } = await service.listTools({ workspaceId, botSlug });
          return {
            json: tools.map((each) => messageToJson(ToolSchema, each)),
            text: formatTable(
              ["name", "kind", "url", "secret"],
              tools.map((tool) => [tool.name, httpMethodOrMcp(tool), tool.kind.value?.url ?? "", tool.secret || "–"]),
              "No tools.",
            ),
          };
        }),
      ),
    );

  group
    .command("check")
    .description("Show what a bot's tools offer to models.")
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .action(({ workspace: workspaceId, bot: botSlug }) =>
      report(
        callAdmin(ToolAdminService, async (service) => {
          const { tools } = await service.checkTools({ workspaceId, botSlug });
          return {
            json: tools.map((each) => messageToJson(ToolDescriptionSchema, each)),
            text: formatTable(["tool", "function", "offered", "reason"], tools.flatMap(toCheckRows), "No tools."),
          };
        }),
      ),
    );

  group
    .command("remove")
    .description("Remove a tool.")
    .argument("<name>", "Select the tool.")
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .action((name, { workspace: workspaceId, bot: botSlug }) =>
      report(
        callAdmin(ToolAdminService, async (service) => {
          await service.removeTool({ workspaceId, botSlug, name });
          return { json: { name, removed: true }, text: `Removed ${name}.\n` };
        }),
      ),
    );
}

/** Warns if the bot's model cannot call tools. The tool is stored anyway, because the bot may get another model later. */
async function warnWithoutToolCalls(
  { callAdmin, notice }: Pick<Context, "callAdmin" | "notice">,
  workspaceId: string,
  slug: string,
): Promise<void> {
  try {
    const { bot } = await callAdmin(BotAdminService, (service) => service.getBot({ workspaceId, slug }));
    const model =
      bot?.model || (await callAdmin(ProviderAdminService, (service) => service.listProviders({}))).defaultModel;
    if (BUILTIN_MODELS.test(model))
      notice(
        `the bot's model ${model} cannot call tools: choose another with parley bot update --workspace ${workspaceId} --slug ${slug} --model M`,
      );
  } catch (error) {
    // Only the operator may read the installation's default model.
    if (!(error instanceof CliError)) throw error;
  }
}

type ToolOptions = {
  url?: string;
  mcp?: string;
  method?: string;
  description?: string;
  parameters?: string;
  only?: string[];
};

async function readToolKind(
  { url, mcp, method = "GET", description = "", parameters, only = [] }: ToolOptions,
  dir: string,
) {
  if (mcp !== undefined) return { case: "mcp" as const, value: { url: mcp, only } };
  if (url === undefined) throw new CliError("give --url or --mcp", { exitCode: 2 });
  const schema = await readTextOrFile(parameters ?? NO_ARGUMENTS_SCHEMA, dir);
  return { case: "http" as const, value: { url, method: method.toUpperCase(), description, parameters: schema } };
}

/** Returns the text itself, or the content of FILE for "@FILE". */
async function readTextOrFile(text: string, dir: string): Promise<string> {
  if (!text.startsWith("@")) return text;
  const content = await readInputFile(resolve(dir, text.slice(1)));
  return new TextDecoder(charsetByMark(content)).decode(content);
}

function toCheckRows({ name, functions, omitted, failure }: ToolDescription): string[][] {
  return [
    ...(failure === "" ? [] : [[name, "–", "no", failure]]),
    ...functions.map((each) => [name, each, "yes", "–"]),
    ...omitted.map((each) => [name, each.name || "–", "no", each.reason]),
  ];
}

function httpMethodOrMcp({ kind }: Tool): string {
  return kind.case === "http" ? kind.value.method : "MCP";
}

function describe(tool: Tool): string {
  const { kind } = tool;
  return formatFields([
    ["name", tool.name],
    ["kind", httpMethodOrMcp(tool)],
    ["url", kind.value?.url ?? ""],
    ["secret", tool.secret || "none"],
    ...(kind.case === "http" ? [["description", kind.value.description] as [string, string]] : []),
    ...(kind.case === "mcp" ? [["tools", kind.value.only.join(", ") || "all"] as [string, string]] : []),
  ]);
}
