import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { type CannedReply, CannedReplyAdminService, CannedReplySchema } from "@parley/rpc/conversation";
import { requireField } from "../admin/require-field.ts";
import { requireWorkspace } from "../admin/require-workspace.ts";
import type { Context } from "../context.ts";
import { messageToJson } from "../output/json.ts";
import type { Result } from "../output/result.ts";
import { formatFields, formatTable } from "../output/table.ts";
import { refuseEmpty, wholeNumberParser, workspaceOption } from "./options.ts";

const NO_REPLIES = "No canned replies. Add one with parley canned-reply add --workspace W --name N --text T";
const idArgument = [
  "<id>",
  "Select the canned reply by its ID.",
  wholeNumberParser(1, Number.MAX_SAFE_INTEGER),
] as const;
const nameOption = ["--name <name>", "Set the name by which the team finds it.", refuseEmpty] as const;
const textOption = ["--text <text>", "Set the text, in Markdown.", refuseEmpty] as const;

export function addCannedReplyCommands(program: CommandUnknownOpts, { callAdmin, report }: Context): void {
  const group = program.command("canned-reply").description("Manage texts that the team inserts into answers.");

  group
    .command("add")
    .description("Add a canned reply.")
    .requiredOption(...workspaceOption)
    .requiredOption(...nameOption)
    .requiredOption(...textOption)
    .action(({ workspace: workspaceId, name, text }) =>
      report(
        callAdmin(CannedReplyAdminService, async (service) =>
          describe(requireField((await service.addCannedReply({ workspaceId, name, text })).reply)),
        ),
      ),
    );

  group
    .command("update")
    .description("Replace the name and the text.")
    .argument(...idArgument)
    .requiredOption(...workspaceOption)
    .requiredOption(...nameOption)
    .requiredOption(...textOption)
    .action((id, { workspace: workspaceId, name, text }) =>
      report(
        callAdmin(CannedReplyAdminService, async (service) =>
          describe(requireField((await service.updateCannedReply({ workspaceId, id: BigInt(id), name, text })).reply)),
        ),
      ),
    );

  group
    .command("list")
    .description("List a workspace's canned replies by name.")
    .requiredOption(...workspaceOption)
    .action(({ workspace: workspaceId }) =>
      report(
        callAdmin(CannedReplyAdminService, async (service) => {
          const { replies } = await service.listCannedReplies({ workspaceId });
          if (replies.length === 0) await requireWorkspace(callAdmin, workspaceId);
          return {
            json: replies.map((each) => messageToJson(CannedReplySchema, each)),
            text: formatTable(
              ["id", "name", "text"],
              replies.map((each) => [each.id.toString(), each.name, each.text]),
              NO_REPLIES,
            ),
          };
        }),
      ),
    );

  group
    .command("remove")
    .description("Remove a canned reply.")
    .argument(...idArgument)
    .requiredOption(...workspaceOption)
    .action((id, { workspace: workspaceId }) =>
      report(
        callAdmin(CannedReplyAdminService, async (service) => {
          await service.removeCannedReply({ workspaceId, id: BigInt(id) });
          return { json: { id, removed: true }, text: `Removed canned reply ${id}.\n` };
        }),
      ),
    );
}

function describe(reply: CannedReply): Result {
  return {
    json: messageToJson(CannedReplySchema, reply),
    text: formatFields([
      ["id", reply.id.toString()],
      ["name", reply.name],
      ["text", reply.text],
    ]),
  };
}
