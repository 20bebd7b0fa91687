import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { type CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import { ToolAdminService } from "@parley/rpc/conversation";
import { type Tool, ToolSchema } from "@parley/rpc/llm";
import { answered } from "../admin/answered.ts";
import type { Context } from "../context.ts";
import { CliError } from "../errors.ts";
import { messageJson } from "../output/json.ts";
import { fields, table } from "../output/table.ts";
import { botOption, collect, workspaceOption } from "./options.ts";

const NO_ARGUMENTS = JSON.stringify({ type: "object", properties: {}, additionalProperties: false });

export function addToolCommands(program: CommandUnknownOpts, { admin, report, config }: Context): void {
  const group = program
    .command("tool")
    .description("what a bot may call while it answers; in force everywhere within 5 s");

  group
    .command("add")
    .description(
      "give a bot an HTTP request (--url) or an MCP server (--mcp) to call, in place of its tool of that name",
    )
    .argument("<name>", "the name the model calls it by")
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .addOption(
      new Option("--url <url>", "the URL; {name} in its path or query stands for an argument").conflicts("mcp"),
    )
    .option("--method <method>", "GET, POST, PUT, PATCH or DELETE; GET unless given")
    .option("--description <text>", "what it does and when to call it, for the model")
    .option("--parameters <json>", "the JSON Schema of its arguments, or @FILE; none unless given")
    .option("--mcp <url>", "the endpoint of an MCP server, over streamable HTTP")
    .option("--only <tool>", "a tool of the MCP server that may be called; repeat for more; all unless given", collect)
    .option("--secret <name>", "a secret of LLM_CONFIG's tool_secrets")
    .action((name, options) =>
      report(
        admin(ToolAdminService, async (service) => {
          const { workspace: workspaceId, bot: botSlug, secret = "" } = options;
          const tool = { name, secret, kind: await kindOf(options, config.filesDir) };
          const added = answered((await service.putTool({ workspaceId, botSlug, tool })).tool);
          return { json: messageJson(ToolSchema, added), text: describe(added) };
        }),
      ),
    );

  group
    .command("list")
    .description("list a bot's tools")
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .action(({ workspace: workspaceId, bot: botSlug }) =>
      report(
        admin(ToolAdminService, async (service) => {
          const { tools } = await service.listTools({ workspaceId, botSlug });
          return {
            json: tools.map((each) => messageJson(ToolSchema, each)),
            text: table(
              ["name", "kind", "url", "secret"],
              tools.map((tool) => [tool.name, kindName(tool), tool.kind.value?.url ?? "", tool.secret || "–"]),
              "No tools.",
            ),
          };
        }),
      ),
    );

  group
    .command("remove")
    .description("take a tool away")
    .argument("<name>", "the tool's name")
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .action((name, { workspace: workspaceId, bot: botSlug }) =>
      report(
        admin(ToolAdminService, async (service) => {
          await service.removeTool({ workspaceId, botSlug, name });
          return { json: { name, removed: true }, text: `Removed ${name}.\n` };
        }),
      ),
    );
}

type Given = {
  url?: string;
  mcp?: string;
  method?: string;
  description?: string;
  parameters?: string;
  only?: string[];
};

async function kindOf({ url, mcp, method = "GET", description = "", parameters, only = [] }: Given, dir: string) {
  if (mcp !== undefined) return { case: "mcp" as const, value: { url: mcp, only } };
  if (url === undefined) throw new CliError("a tool needs --url or --mcp", { exitCode: 2 });
  const schema = await textOf(parameters ?? NO_ARGUMENTS, dir);
  return { case: "http" as const, value: { url, method: method.toUpperCase(), description, parameters: schema } };
}

/** The text itself, or with an @ before it that of the file it names. */
async function textOf(given: string, dir: string): Promise<string> {
  if (!given.startsWith("@")) return given;
  const path = resolve(dir, given.slice(1));
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new CliError(code === "ENOENT" ? `there is no file ${path}` : `cannot read ${path}: ${code}`, { cause });
  }
}

function kindName({ kind }: Tool): string {
  return kind.case === "http" ? kind.value.method : "MCP";
}

function describe(tool: Tool): string {
  const { kind } = tool;
  return fields([
    ["name", tool.name],
    ["kind", kindName(tool)],
    ["url", kind.value?.url ?? ""],
    ["secret", tool.secret || "none"],
    ...(kind.case === "http" ? [["description", kind.value.description] as [string, string]] : []),
    ...(kind.case === "mcp" ? [["tools", kind.value.only.join(", ") || "all it offers"] as [string, string]] : []),
  ]);
}
