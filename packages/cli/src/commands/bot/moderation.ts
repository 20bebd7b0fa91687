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

function wordsOption(description: string) {
  return new Option("--words <list>", description).argParser((list) => list.split(",")).conflicts("pattern");
}

export function addModerationCommands(program: CommandUnknownOpts, { callAdmin, report }: Context): void {
  const group = program.command("moderation").description("Manage patterns that block messages or replies.");

  group
    .command("add")
    .description("Add a case-insensitive pattern, effective within 5 s.")
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .addOption(wordsOption("Set words or phrases, separated by commas."))
    .option("--pattern <re>", "Set the regular expression, in RE2 syntax.")
    .option("--fallback <text>", "Set the replacement text (default: the bot's fallback).")
    .option("--reason <code>", "Set the blocked event's reason (default: blocked_pattern).")
    .addOption(appliesToOption("Choose what to match (default: message)."))
    .action(({ workspace: workspaceId, bot: botSlug, on: appliesTo, ...fields }) => {
      if (fields.words === undefined && fields.pattern === undefined)
        throw new CliError("give --words or --pattern", { exitCode: 2 });
      return report(
        callAdmin(ModerationAdminService, async (service) => {
          const set = { ...fields, ...(appliesTo !== undefined && { appliesTo }) };
          const response = await service.addPattern({ workspaceId, botSlug, ...set });
          const added = requireField(response.pattern);
          return { json: messageToJson(PatternSchema, added), text: describe(added) };
        }),
      );
    });

  group
    .command("update")
    .description("Change a pattern, effective within 5 s.")
    .argument("<id>", "Select the pattern by its ID.", wholeNumberParser(1, Number.MAX_SAFE_INTEGER))
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .addOption(wordsOption("Set words or phrases, separated by commas."))
    .option("--pattern <re>", "Set the regular expression, in RE2 syntax.")
    .option("--fallback <text>", "Set the replacement text (empty: the bot's fallback).")
    .option("--reason <code>", "Set the blocked event's reason (empty: blocked_pattern).")
    .addOption(appliesToOption("Choose what to match."))
    .action((id, { workspace: workspaceId, bot: botSlug, on: appliesTo, words, ...texts }) =>
      report(
        callAdmin(ModerationAdminService, async (service) => {
          const changes = {
            ...texts,
            ...(words !== undefined && { words: { values: words } }),
            ...(appliesTo !== undefined && { appliesTo }),
          };
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
              ["id", "words or pattern", "on", "reason", "fallback"],
              patterns.map((each) => [
                each.id.toString(),
                wordsOrPattern(each),
                each.appliesTo,
                each.reason,
                each.fallback,
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
    .addOption(wordsOption("Also match these unsaved words or phrases."))
    .option("--pattern <re>", "Also match this unsaved pattern.")
    .addOption(appliesToOption("Choose what --words or --pattern matches (default: message)."))
    .action((text, { workspace: workspaceId, bot: botSlug, words, pattern, on: appliesTo = "" }) => {
      const hasUnsaved = words !== undefined || pattern !== undefined;
      if (appliesTo !== "" && !hasUnsaved) throw new CliError("--on needs --words or --pattern", { exitCode: 2 });
      return report(
        callAdmin(ModerationAdminService, async (service) => {
          const unsaved = { appliesTo, ...(words && { words }), ...(pattern !== undefined && { pattern }) };
          const { matches } = await service.checkText({ workspaceId, botSlug, text, ...(hasUnsaved && { unsaved }) });
          return {
            json: matches.map((each) => messageToJson(PatternMatchSchema, each)),
            text: formatTable(
              ["id", "words or pattern", "blocks a message", "blocks a reply"],
              matches.map(({ pattern: matched, blocksMessage, blocksReply }) => [
                matched?.id ? matched.id.toString() : "unsaved",
                matched ? wordsOrPattern(matched) : "",
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

function describe(pattern: Pattern): string {
  return formatFields([
    ["id", pattern.id.toString()],
    [pattern.words.length > 0 ? "words" : "pattern", wordsOrPattern(pattern)],
    ["on", pattern.appliesTo],
    ["reason", pattern.reason],
    ["fallback", pattern.fallback || "the bot's"],
  ]);
}

function wordsOrPattern({ words, pattern }: Pattern): string {
  return words.length > 0 ? words.join(", ") : pattern;
}
