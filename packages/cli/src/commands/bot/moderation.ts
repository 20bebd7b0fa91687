import { type CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import { ModerationAdminService, type Pattern, PatternMatchSchema, PatternSchema } from "@parley/rpc/conversation";
import { requireField } from "../../admin/require-field.ts";
import type { Context } from "../../context.ts";
import { CliError } from "../../errors.ts";
import { messageToJson } from "../../output/json.ts";
import { formatFields, formatTable } from "../../output/table.ts";
import { botOption, wholeNumberParser, workspaceOption } from "../options.ts";

const APPLIES_TO = ["message", "reply", "both"] as const;

function appliesToOption(description: string) {
  return new Option("--on <what>", description).choices(APPLIES_TO);
}

export function addModerationCommands(program: CommandUnknownOpts, { callAdmin, report }: Context): void {
  const group = program.command("moderation").description("Manage patterns that block messages or replies.");

  group
    .command("add")
    .description("Add a case-insensitive pattern, effective within 5 s.")
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .requiredOption("--pattern <re>", "Set the regular expression, in RE2 syntax.")
    .option("--fallback <text>", "Set the replacement text (default: the bot's fallback).")
    .option("--reason <code>", "Set the blocked event's reason (default: blocked_pattern).")
    .addOption(appliesToOption("Choose what to match (default: message)."))
    .action(({ workspace: workspaceId, bot: botSlug, pattern, fallback = "", reason = "", on: appliesTo = "" }) =>
      report(
        callAdmin(ModerationAdminService, async (service) => {
          const response = await service.addPattern({ workspaceId, botSlug, pattern, fallback, reason, appliesTo });
          const added = requireField(response.pattern);
          return { json: messageToJson(PatternSchema, added), text: describe(added) };
        }),
      ),
    );

  group
    .command("update")
    .description("Change a pattern, effective within 5 s.")
    .argument("<id>", "Select the pattern by its ID.", wholeNumberParser(1, Number.MAX_SAFE_INTEGER))
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .option("--pattern <re>", "Set the regular expression, in RE2 syntax.")
    .option("--fallback <text>", "Set the replacement text (empty: the bot's fallback).")
    .option("--reason <code>", "Set the blocked event's reason (empty: blocked_pattern).")
    .addOption(appliesToOption("Choose what to match."))
    .action((id, { workspace: workspaceId, bot: botSlug, on: appliesTo, ...texts }) =>
      report(
        callAdmin(ModerationAdminService, async (service) => {
          const changes = { ...texts, ...(appliesTo !== undefined && { appliesTo }) };
          const response = await service.updatePattern({ workspaceId, botSlug, id: BigInt(id), changes });
          const updated = requireField(response.pattern);
          return { json: messageToJson(PatternSchema, updated), text: describe(updated) };
        }),
      ),
    );

  group
    .command("list")
    .description("List a bot's patterns in matching order.")
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .action(({ workspace: workspaceId, bot: botSlug }) =>
      report(
        callAdmin(ModerationAdminService, async (service) => {
          const { patterns } = await service.listPatterns({ workspaceId, botSlug });
          return {
            json: patterns.map((each) => messageToJson(PatternSchema, each)),
            text: formatTable(
              ["id", "pattern", "on", "reason", "fallback"],
              patterns.map(({ id, pattern, appliesTo, reason, fallback }) => [
                id.toString(),
                pattern,
                appliesTo,
                reason,
                fallback,
              ]),
              "No patterns, so nothing is blocked.",
            ),
          };
        }),
      ),
    );

  group
    .command("check")
    .description("List the patterns that match a text.")
    .argument("<text>", "Set the text, at most 4,000 characters.")
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .option("--pattern <re>", "Also match this unsaved pattern.")
    .addOption(appliesToOption("Choose what --pattern matches (default: message)."))
    .action((text, { workspace: workspaceId, bot: botSlug, pattern, on: appliesTo = "" }) => {
      if (appliesTo !== "" && pattern === undefined) throw new CliError("--on needs --pattern", { exitCode: 2 });
      return report(
        callAdmin(ModerationAdminService, async (service) => {
          const unsaved = pattern === undefined ? {} : { unsaved: { pattern, appliesTo } };
          const { matches } = await service.checkText({ workspaceId, botSlug, text, ...unsaved });
          return {
            json: matches.map((each) => messageToJson(PatternMatchSchema, each)),
            text: formatTable(
              ["id", "pattern", "blocks a message", "blocks a reply"],
              matches.map(({ pattern: matched, blocksMessage, blocksReply }) => [
                matched?.id ? matched.id.toString() : "unsaved",
                matched?.pattern ?? "",
                blocksMessage ? "yes" : "no",
                blocksReply ? "yes" : "no",
              ]),
              "No pattern matches, so the text is not blocked.",
            ),
          };
        }),
      );
    });

  group
    .command("remove")
    .description("Remove a pattern.")
    .argument("<id>", "Select the pattern by its ID.", wholeNumberParser(1, Number.MAX_SAFE_INTEGER))
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .action((id, { workspace: workspaceId, bot: botSlug }) =>
      report(
        callAdmin(ModerationAdminService, async (service) => {
          await service.removePattern({ workspaceId, botSlug, id: BigInt(id) });
          return { json: { id, removed: true }, text: `Removed pattern ${id}.\n` };
        }),
      ),
    );
}

function describe({ id, pattern, appliesTo, reason, fallback }: Pattern): string {
  return formatFields([
    ["id", id.toString()],
    ["pattern", pattern],
    ["on", appliesTo],
    ["reason", reason],
    ["fallback", fallback || "the bot's"],
  ]);
}
