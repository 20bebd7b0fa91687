import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { SessionAdminService, SessionSummarySchema } from "@parley/rpc/conversation";
import type { Context } from "../context.ts";
import { messageJson } from "../output/json.ts";
import { table } from "../output/table.ts";
import { wholeNumber, workspaceOption } from "./options.ts";
import { copyTranscript, showTranscript } from "./transcript.ts";

export function addConversationCommands(program: CommandUnknownOpts, context: Context): void {
  const { admin, report } = context;
  const group = program.command("conversation").description("Manage sessions.");

  group
    .command("list")
    .description("List sessions, most recently active first.")
    .requiredOption(...workspaceOption)
    .option("--limit <count>", "The maximum number, 1 to 1000.", wholeNumber(1, 1_000), 50)
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
              "No sessions yet.",
            ),
          };
        }),
      ),
    );

  group
    .command("show")
    .description("Show a session's messages.")
    .argument("<id>", "The session ID.")
    .requiredOption(...workspaceOption)
    .action((sessionId, { workspace: workspaceId }) => report(showTranscript(admin, { workspaceId, sessionId })));

  group
    .command("export")
    .description("Write a session's transcript as JSON.")
    .argument("<id>", "The session ID.")
    .requiredOption(...workspaceOption)
    .action((sessionId, { workspace: workspaceId }) =>
      copyTranscript(admin, { workspaceId, sessionId }, context.stdout),
    );

  group
    .command("delete")
    .description("Hide a session but keep its content.")
    .argument("<id>", "The session ID.")
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
    .description("Permanently remove a session's content.")
    .argument("<id>", "The session ID.")
    .requiredOption(...workspaceOption)
    .action((sessionId, { workspace: workspaceId }) =>
      report(
        admin(SessionAdminService, async (service) => {
          await service.eraseSession({ workspaceId, sessionId });
          return { json: { id: sessionId, erased: true }, text: `Permanently erased ${sessionId}.\n` };
        }),
      ),
    );
}
