import { type CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import { ModerationAdminService, type Pattern, PatternSchema } from "@parley/rpc/conversation";
import { answered } from "../admin/answered.ts";
import type { Context } from "../context.ts";
import { messageJson } from "../output/json.ts";
import { fields, table } from "../output/table.ts";
import { botOption, wholeNumber, workspaceOption } from "./options.ts";

export function addModerationCommands(program: CommandUnknownOpts, { admin, report }: Context): void {
  const group = program
    .command("moderation")
    .description(
      "patterns that block messages before any model sees them, or replies before anybody does; in force within 5 s",
    );

  group
    .command("add")
    .description("block the messages or replies in which a pattern matches, whatever the case")
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .requiredOption("--pattern <re>", "an expression in RE2 syntax")
    .option("--fallback <text>", "what is shown instead of a reply; the bot's fallback unless given")
    .option("--reason <code>", "the reason told to the widget; blocked_pattern unless given")
    .addOption(
      new Option("--on <what>", "what it is tried on; the visitor's message unless given").choices([
        "message",
        "reply",
        "both",
      ] as const),
    )
    .action(({ workspace: workspaceId, bot: botSlug, pattern, fallback = "", reason = "", on: appliesTo = "" }) =>
      report(
        admin(ModerationAdminService, async (service) => {
          const response = await service.addPattern({ workspaceId, botSlug, pattern, fallback, reason, appliesTo });
          const added = answered(response.pattern);
          return { json: messageJson(PatternSchema, added), text: describe(added) };
        }),
      ),
    );

  group
    .command("list")
    .description("list a bot's patterns in the order they are tried")
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
              "No patterns: nothing is blocked.",
            ),
          };
        }),
      ),
    );

  group
    .command("remove")
    .description("remove a pattern")
    .argument("<id>", "the pattern's id", wholeNumber(1, Number.MAX_SAFE_INTEGER))
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
