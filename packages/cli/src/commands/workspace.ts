import { Argument, type CommandUnknownOpts, InvalidArgumentError, Option } from "@commander-js/extra-typings";
import { WorkspaceDeletionAdminService } from "@parley/rpc/conversation";
import { type Workspace, WorkspaceAdminService, WorkspaceSchema } from "@parley/rpc/quota";
import { requireField } from "../admin/require-field.ts";
import type { Context } from "../context.ts";
import { messageToJson } from "../output/json.ts";
import type { Result } from "../output/result.ts";
import { formatFields, formatTable } from "../output/table.ts";
import { PLANS } from "./options.ts";
import { formatRetention, parseRetention } from "./retention.ts";

export function addWorkspaceCommands(program: CommandUnknownOpts, { callAdmin, report }: Context): void {
  const group = program.command("workspace").description("Manage workspaces and plans.");

  group
    .command("create")
    .description("Create a workspace.")
    .requiredOption("--name <name>", "Set the name.")
    .addOption(new Option("--plan <plan>", "Choose the plan.").choices(PLANS).makeOptionMandatory())
    .option("--id <id>", "Use the identity provider's workspace ID (default: generated).")
    .action(({ name, plan, id = "" }) =>
      report(
        callAdmin(WorkspaceAdminService, async (service) =>
          toResult(requireField((await service.createWorkspace({ name, plan, id })).workspace)),
        ),
      ),
    );

  group
    .command("list")
    .description("List all workspaces, oldest first.")
    .action(() =>
      report(
        callAdmin(WorkspaceAdminService, async (service) => {
          const { workspaces } = await service.listWorkspaces({});
          return {
            json: workspaces.map((each) => messageToJson(WorkspaceSchema, each)),
            text: formatTable(
              ["id", "name", "plan", "messages a month", "created", "deleted"],
              workspaces.map(({ id, name, plan, cap, createdAt, deletedAt }) => [
                ...[id, name, plan, cap, createdAt, deletedAt],
              ]),
              "No workspaces yet. Create one with parley workspace create --name N --plan free",
            ),
          };
        }),
      ),
    );

  group
    .command("set")
    .description("Change a workspace's retention.")
    .argument("<id>", "Select the workspace.")
    .requiredOption("--retention <time>", "Keep idle sessions this long (30m, 90d, never).", parseRetention)
    .action((workspaceId, { retention: retentionMinutes }) =>
      report(
        callAdmin(WorkspaceAdminService, async (service) => {
          const workspace = requireField((await service.setRetention({ workspaceId, retentionMinutes })).workspace);
          return { ...toResult(workspace), json: messageToJson(WorkspaceSchema, workspace) };
        }),
      ),
    );

  group
    .command("set-thresholds")
    .description("Change at which usage events are recorded.")
    .argument("<id>", "Select the workspace.")
    .argument("<percents>", "Set percentages such as 50,80,100, or none.", parseThresholds)
    .action((workspaceId, percents) =>
      report(
        callAdmin(WorkspaceAdminService, async (service) => {
          const { thresholds } = await service.setUsageThresholds({ workspaceId, thresholds: percents });
          return { json: { id: workspaceId, thresholds }, text: `Thresholds: ${formatThresholds(thresholds)}\n` };
        }),
      ),
    );

  group
    .command("delete")
    .description("Delete a workspace; its data is erased later.")
    .argument("<id>", "Select the workspace.")
    .action((workspaceId) =>
      report(
        callAdmin(WorkspaceDeletionAdminService, async (service) => {
          const { deletedAt, eraseAt } = requireField((await service.deleteWorkspace({ workspaceId })).deletion);
          return {
            json: { id: workspaceId, deleted_at: deletedAt, erase_at: eraseAt },
            text:
              `Deleted ${workspaceId}. Its data is erased after ${eraseAt}.\n` +
              `Until then parley workspace restore ${workspaceId} restores it.\n`,
          };
        }),
      ),
    );

  group
    .command("restore")
    .description("Restore a deleted workspace.")
    .argument("<id>", "Select the workspace.")
    .action((workspaceId) =>
      report(
        callAdmin(WorkspaceDeletionAdminService, async (service) => {
          await service.restoreWorkspace({ workspaceId });
          return { json: { id: workspaceId, restored: true }, text: `Restored ${workspaceId}.\n` };
        }),
      ),
    );

  group
    .command("set-plan")
    .description("Change a workspace's plan, effective immediately.")
    .argument("<id>", "Select the workspace.")
    .addArgument(new Argument("<plan>", "Choose the new plan.").choices(PLANS))
    .action((workspaceId, plan) =>
      report(
        callAdmin(WorkspaceAdminService, async (service) =>
          toResult(requireField((await service.setPlan({ workspaceId, plan })).workspace)),
        ),
      ),
    );
}

function parseThresholds(text: string): number[] {
  if (text === "none") return [];
  if (!/^\d{1,3}(,\d{1,3})*$/.test(text)) throw new InvalidArgumentError('Write it like "50,80,100" or "none".');
  return text.split(",").map(Number);
}

export function formatThresholds(thresholds: readonly number[]): string {
  return thresholds.length === 0 ? "none" : thresholds.map((each) => `${each} %`).join(", ");
}

function toResult({ id, name, plan, cap, retentionMinutes }: Workspace): Result {
  return {
    json: { id, name, plan },
    text: formatFields([
      ["id", id],
      ["name", name],
      ["plan", plan],
      ["messages a month", cap],
      ["sessions kept", formatRetention(retentionMinutes)],
    ]),
  };
}
