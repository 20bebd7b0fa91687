import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import type { Client } from "@connectrpc/connect";
import { SessionAdminService, type SessionSummary, SessionSummarySchema } from "@parley/rpc/conversation";
import { requireWorkspace } from "../../admin/require-workspace.ts";
import type { Context } from "../../context.ts";
import { messageToJson } from "../../output/json.ts";
import { terminalColumns } from "../../output/result.ts";
import { formatTable } from "../../output/table.ts";
import { wholeNumberParser, workspaceOption } from "../options.ts";
import { copyTranscript, describeVisitor, showTranscript } from "./transcript.ts";

const MAX_PAGE_SIZE = 100;

export function addConversationCommands(program: CommandUnknownOpts, context: Context): void {
  const { callAdmin, report } = context;
  const group = program.command("conversation").description("Manage conversations (sessions).");

  group
    .command("list")
    .description("List sessions, most recently active first.")
    .requiredOption(...workspaceOption)
    .option("--limit <count>", "Limit the number of sessions, 1 to 1000.", wholeNumberParser(1, 1_000), 50)
    .action(({ workspace: workspaceId, limit }) =>
      report(
        callAdmin(SessionAdminService, async (service) => {
          const sessions = await listSessions(service, workspaceId, limit);
          if (sessions.length === 0) await requireWorkspace(callAdmin, workspaceId);
          return {
            json: sessions.map((each) => messageToJson(SessionSummarySchema, each)),
            text: formatTable(
              ["id", "bot", "source", "visitor", "messages", "rating", "review", "started", "last active"],
              sessions.map((each) => [
                each.id,
                each.botSlug,
                each.source,
                describeVisitor(each) || "–",
                each.messageCount,
                each.rating || "–",
                each.review || "–",
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
    .argument("<id>", "Select the session by its ID.")
    .requiredOption(...workspaceOption)
    .action((sessionId, { workspace: workspaceId }) => {
      // Wraps lines only for a terminal of known width.
      const columns = terminalColumns(context.stdout) ?? Number.POSITIVE_INFINITY;
      return report(showTranscript(callAdmin, { workspaceId, sessionId }, columns));
    });

  group
    .command("export")
    .description("Write a session's transcript as JSON.")
    .argument("<id>", "Select the session by its ID.")
    .requiredOption(...workspaceOption)
    .action((sessionId, { workspace: workspaceId }) =>
      copyTranscript(callAdmin, { workspaceId, sessionId }, context.stdout),
    );

  group
    .command("delete")
    .description("Hide a session but keep its content.")
    .argument("<id>", "Select the session by its ID.")
    .requiredOption(...workspaceOption)
    .action((sessionId, { workspace: workspaceId }) =>
      report(
        callAdmin(SessionAdminService, async (service) => {
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
    .argument("<id>", "Select the session by its ID.")
    .requiredOption(...workspaceOption)
    .action((sessionId, { workspace: workspaceId }) =>
      report(
        callAdmin(SessionAdminService, async (service) => {
          await service.eraseSession({ workspaceId, sessionId });
          return { json: { id: sessionId, erased: true }, text: `Permanently erased ${sessionId}.\n` };
        }),
      ),
    );

  group
    .command("erase-visitor")
    .description("Permanently remove a visitor's sessions.")
    .argument("<visitor-id>", "Select the sessions that have or had this ID.")
    .requiredOption(...workspaceOption)
    .action((visitorId, { workspace: workspaceId }) =>
      report(
        callAdmin(SessionAdminService, async (service) => {
          const { sessions } = await service.eraseVisitor({ workspaceId, visitorId });
          if (sessions === 0n) await requireWorkspace(callAdmin, workspaceId);
          return { json: { sessions: Number(sessions) }, text: `Sessions to erase: ${sessions}\n` };
        }),
      ),
    );
}

async function listSessions(
  service: Client<typeof SessionAdminService>,
  workspaceId: string,
  limit: number,
): Promise<SessionSummary[]> {
  const sessions: SessionSummary[] = [];
  let pageToken = "";
  do {
    const pageSize = Math.min(limit - sessions.length, MAX_PAGE_SIZE);
    const page = await service.listSessions({ workspaceId, limit: pageSize, pageToken });
    sessions.push(...page.sessions);
    pageToken = page.nextPageToken;
  } while (pageToken !== "" && sessions.length < limit);
  return sessions;
}
