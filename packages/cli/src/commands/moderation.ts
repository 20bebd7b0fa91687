import { type CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import { ModerationAdminService, type Pattern, PatternSchema } from "@parley/rpc/conversation";
import { requireField } from "../admin/require-field.ts";
import type { Context } from "../context.ts";
import { messageJson } from "../output/json.ts";
import { fields, table } from "../output/table.ts";
import { botOption, wholeNumber, workspaceOption } from "./options.ts";

export function addModerationCommands(program: CommandUnknownOpts, { admin, report }: Context): void {
  const group = program.command("moderation").description("Manage patterns that block messages or replies.");

  group
    .command("add")
    .description("Add a case-insensitive pattern, effective within 5 s.")
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .requiredOption("--pattern <re>", "A regular expression in RE2 syntax.")
    .option("--fallback <text>", "The text shown instead; default the bot's fallback.")
    .option("--reason <code>", "The reason in the event; default blocked_pattern.")
    .addOption(
      new Option("--on <what>", "What to match; default message.").choices(["message", "reply", "both"] as const),
    )
    .action(({ workspace: workspaceId, bot: botSlug, pattern, fallback = "", reason = "", on: appliesTo = "" }) =>
      report(
        admin(ModerationAdminService, async (service) => {
          const response = await service.addPattern({ workspaceId, botSlug, pattern, fallback, reason, appliesTo });
          const added = requireField(response.pattern);
          return { json: messageJson(PatternSchema, added), text: describe(added) };
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
        admin(ModerationAdminService, async (service) => {
          const { patterns } = await service.listPatterns({ workspaceId, botSlug });
          return {
            json: patterns.map((each) => messageJson(PatternSchema, each)),
            text: table(
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
    .command("remove")
    .description("Remove a pattern.")
    .argument("<id>", "The pattern ID.", wholeNumber(1, Number.MAX_SAFE_INTEGER))
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .action((id, { workspace: workspaceId, bot: botSlug }) =>
      report(
        admin(ModerationAdminService, async (service) => {
          await service.removePattern({ workspaceId, botSlug, id: BigInt(id) });
          return { json: { id, removed: true }, text: `Removed pattern ${id}.\n` };
        }),
      ),
    );
}

function describe({ id, pattern, appliesTo, reason, fallback }: Pattern): string {
  return fields([
    ["id", id.toString()],
    ["pattern", pattern],
    ["on", appliesTo],
    ["reason", reason],
    ["fallback", fallback || "the bot's"],
  ]);
}
