import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { SessionAdminService, SessionSummarySchema } from "@parley/rpc/conversation";
import type { Context } from "../context.ts";
import { messageJson } from "../output/json.ts";
import { table } from "../output/table.ts";
import { wholeNumber, workspaceOption } from "./options.ts";
import { copyTranscript, showTranscript } from "./transcript.ts";

export function addConversationCommands(program: CommandUnknownOpts, context: Context): void {
  const { admin, report } = context;
  const group = program.command("conversation").description("what visitors and bots said");

  group
    .command("list")
    .description("list a workspace's conversations, the last active first")
    .requiredOption(...workspaceOption)
    .option("--limit <count>", "at most this many, 1 to 1000", wholeNumber(1, 1_000), 50)
    .action(({ workspace: workspaceId, limit }) =>
      report(
        admin(SessionAdminService, async (service) => {
          const { sessions } = await service.listSessions({ workspaceId, limit });
          return {
            json: sessions.map((each) => messageJson(SessionSummarySchema, each)),
            text: table(
              ["id", "bot", "source", "messages", "started", "last active"],
              sessions.map((each) => [
                each.id,
                each.botSlug,
                each.source,
                each.messages,
                each.startedAt,
                each.lastActivityAt,
              ]),
              "No conversations yet.",
            ),
          };
        }),
      ),
    );

  group
    .command("show")
    .description("show a conversation")
    .argument("<id>", "the conversation's session id")
    .requiredOption(...workspaceOption)
    .action((sessionId, { workspace: workspaceId }) => report(showTranscript(admin, { workspaceId, sessionId })));

  group
    .command("export")
    .description("write a conversation's transcript to stdout, as JSON")
    .argument("<id>", "the conversation's session id")
    .requiredOption(...workspaceOption)
    .action((sessionId, { workspace: workspaceId }) =>
      copyTranscript(admin, { workspaceId, sessionId }, context.stdout),
    );

  group
    .command("delete")
    .description("hide a conversation; its content stays stored")
    .argument("<id>", "the conversation's session id")
    .requiredOption(...workspaceOption)
    .action((sessionId, { workspace: workspaceId }) =>
      report(
        admin(SessionAdminService, async (service) => {
          await service.deleteSession({ workspaceId, sessionId });
          return {
            json: { id: sessionId, deleted: true },
            text: `Deleted ${sessionId}; its content is still stored.\n`,
          };
        }),
      ),
    );

  group
    .command("erase")
    .description("remove a conversation's content for good, a deleted one's too; nothing brings it back")
    .argument("<id>", "the conversation's session id")
    .requiredOption(...workspaceOption)
    .action((sessionId, { workspace: workspaceId }) =>
      report(
        admin(SessionAdminService, async (service) => {
          await service.eraseSession({ workspaceId, sessionId });
          return { json: { id: sessionId, erased: true }, text: `Erased ${sessionId} for good.\n` };
        }),
      ),
    );
}
