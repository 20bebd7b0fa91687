import { resolve } from "node:path";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type CommandUnknownOpts, InvalidArgumentError } from "@commander-js/extra-typings";
import { type Bot, BotAdminService, BotSchema } from "@parley/rpc/conversation";
import { requireField } from "../../admin/require-field.ts";
import { requireWorkspace } from "../../admin/require-workspace.ts";
import type { Context } from "../../context.ts";
import { messageToJson } from "../../output/json.ts";
import type { Result } from "../../output/result.ts";
import { formatFields, formatTable } from "../../output/table.ts";
import { refuseEmpty, workspaceOption } from "../options.ts";
import { readInputFile } from "../read-input-file.ts";
import { toBotChanges, withBotOptions } from "./bot-options.ts";

export function addBotCommands(program: CommandUnknownOpts, { config, callAdmin, report }: Context): void {
  const group = program.command("bot").description("Manage bots.");

  withBotOptions(
    group
      .command("create")
      .description("Create a bot.")
      .requiredOption(...workspaceOption)
      .requiredOption("--slug <slug>", "Set the unique name (characters: a-z 0-9 -)."),
  ).action(({ workspace: workspaceId, slug, ...options }) =>
    report(
      callAdmin(BotAdminService, async (service) =>
        toResult(
          requireField((await service.createBot({ workspaceId, slug, changes: await toBotChanges(options) })).bot),
        ),
      ),
    ),
  );

  withBotOptions(
    group
      .command("update")
      .description("Change the given settings of a bot.")
      .requiredOption(...workspaceOption)
      .requiredOption("--slug <slug>", "Select the bot.", refuseEmpty),
  ).action(({ workspace: workspaceId, slug, ...options }) =>
    report(
      callAdmin(BotAdminService, async (service) =>
        toResult(
          requireField((await service.updateBot({ workspaceId, slug, changes: await toBotChanges(options) })).bot),
        ),
      ),
    ),
  );

  withBotOptions(
    group
      .command("duplicate")
      .description("Copy a bot's settings and moderation patterns.")
      .requiredOption(...workspaceOption)
      .requiredOption("--slug <slug>", "Select the bot.", refuseEmpty)
      .requiredOption("--new-slug <slug>", "Set the copy's name (characters: a-z 0-9 -)."),
  ).action(({ workspace: workspaceId, slug, newSlug, ...options }) =>
    report(
      callAdmin(BotAdminService, async (service) => {
        const { bot } = await service.duplicateBot({
          workspaceId,
          slug,
          newSlug,
          changes: await toBotChanges(options),
        });
        return toResult(requireField(bot));
      }),
    ),
  );

  group
    .command("upload-logo")
    .description("Upload a bot's logo and use it.")
    .argument("<file>", "Select a file: PNG, JPEG, WebP or GIF.")
    .requiredOption(...workspaceOption)
    .requiredOption("--slug <slug>", "Select the bot.", refuseEmpty)
    .requiredOption("--edge-url <url>", "Set the URL that pages load the widget from.", parseEdgeUrl)
    .action((file, { workspace: workspaceId, slug, edgeUrl }) =>
      report(
        callAdmin(BotAdminService, async (service) => {
          const content = new Uint8Array(await readInputFile(resolve(config.filesDir, file)));
          const { path } = await service.uploadLogo({ workspaceId, slug, content });
          const changes = { logoUrl: `${edgeUrl}${path}` };
          return toResult(requireField((await service.updateBot({ workspaceId, slug, changes })).bot));
        }),
      ),
    );

  group
    .command("delete")
    .description("Delete a bot, its keys and documents.")
    .requiredOption(...workspaceOption)
    .requiredOption("--slug <slug>", "Select the bot.", refuseEmpty)
    .action(({ workspace: workspaceId, slug }) =>
      report(
        callAdmin(BotAdminService, async (service) => {
          await service.deleteBot({ workspaceId, slug });
          return {
            json: { slug, deleted: true },
            text: `Deleted ${slug} with its keys, documents, patterns, tools and evaluation. Its conversations stay.\n`,
          };
        }),
      ),
    );

  group
    .command("list")
    .description("List a workspace's bots.")
    .requiredOption(...workspaceOption)
    .action(({ workspace: workspaceId }) =>
      report(
        callAdmin(BotAdminService, async (service) => {
          const { bots } = await service.listBots({ workspaceId });
          if (bots.length === 0) await requireWorkspace(callAdmin, workspaceId);
          return {
            json: bots.map((each) => messageToJson(BotSchema, each)),
            text: formatTable(
              ["slug", "name", "model", "created"],
              bots.map((bot) => [bot.slug, bot.display?.name ?? "", bot.model || "the default", bot.createdAt]),
              "No bots yet. Create one with parley bot create --workspace W --slug S",
            ),
          };
        }),
      ),
    );

  group
    .command("show")
    .description("Show a bot.")
    .requiredOption(...workspaceOption)
    .requiredOption("--slug <slug>", "Select the bot.", refuseEmpty)
    .action(({ workspace: workspaceId, slug }) =>
      report(
        callAdmin(BotAdminService, async (service) =>
          toResult(requireField((await service.getBot({ workspaceId, slug })).bot)),
        ),
      ),
    );
}

/** Returns the URL without a slash at its end. */
function parseEdgeUrl(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text.replace(/\/+$/, "");
  throw new InvalidArgumentError('Write it like "https://chat.example.com".');
}

function toResult(bot: Bot): Result {
  const json = messageToJson(BotSchema, bot);
  const { display, ...fields } = json;
  const values = Object.entries({ ...fields, model: bot.model || "the default", ...(display as JsonObject) });
  return { json, text: formatFields(values.map(([name, value]) => [name.replaceAll("_", " "), formatValue(value)])) };
}

function formatValue(value: JsonValue): string | number {
  if (typeof value === "number") return value;
  if (value === null || typeof value !== "object") return String(value);
  if (Array.isArray(value)) return value.join(" | ");
  const entries = Object.entries(value);
  // The texts of a language have many lines, so that only the languages are listed.
  return entries.map(([name, each]) => (typeof each === "object" ? name : `${name}: ${each}`)).join("; ");
}
