import { Argument, type CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import { type Workspace, WorkspaceAdminService, WorkspaceSchema } from "@parley/rpc/quota";
import { requireField } from "../admin/require-field.ts";
import type { Context } from "../context.ts";
import { messageJson } from "../output/json.ts";
import type { Result } from "../output/result.ts";
import { fields, table } from "../output/table.ts";
import { PLANS, wholeNumber } from "./options.ts";

export function addWorkspaceCommands(program: CommandUnknownOpts, { admin, report }: Context): void {
  const group = program.command("workspace").description("Manage workspaces and plans.");

  group
    .command("create")
    .description("Create a workspace.")
    .requiredOption("--name <name>", "The name.")
    .addOption(new Option("--plan <plan>", "The plan.").choices(PLANS).makeOptionMandatory())
    .option("--id <id>", "The ID in single sign-on; default generated.")
    .action(({ name, plan, id = "" }) =>
      report(
        admin(WorkspaceAdminService, async (service) =>
          toResult(requireField((await service.createWorkspace({ name, plan, id })).workspace)),
        ),
      ),
    );

  group
    .command("list")
    .description("List all workspaces, oldest first.")
    .action(() =>
      report(
        admin(WorkspaceAdminService, async (service) => {
          const { workspaces } = await service.listWorkspaces({});
          return {
            json: workspaces.map((each) => messageJson(WorkspaceSchema, each)),
            text: table(
              ["id", "name", "plan", "messages a month", "created"],
              workspaces.map(({ id, name, plan, cap, createdAt }) => [id, name, plan, cap, createdAt]),
              "No workspaces yet. Create one with parley workspace create --name N --plan free",
            ),
          };
        }),
      ),
    );

  group
    .command("set")
    .description("Change a workspace's retention.")
    .argument("<id>", "The workspace.")
    .requiredOption("--retention-days <days>", "Days to keep idle sessions; 0 keeps them.", wholeNumber(0, 3_650))
    .action((workspaceId, { retentionDays }) =>
      report(
        admin(WorkspaceAdminService, async (service) => {
          const workspace = requireField((await service.setRetention({ workspaceId, retentionDays })).workspace);
          return { ...toResult(workspace), json: messageJson(WorkspaceSchema, workspace) };
        }),
      ),
    );

  group
    .command("set-plan")
    .description("Change a workspace's plan, effective immediately.")
    .argument("<id>", "The workspace.")
    .addArgument(new Argument("<plan>", "The new plan.").choices(PLANS))
    .action((workspaceId, plan) =>
      report(
        admin(WorkspaceAdminService, async (service) =>
          toResult(requireField((await service.setPlan({ workspaceId, plan })).workspace)),
        ),
      ),
    );
}

function toResult({ id, name, plan, cap, retentionDays }: Workspace): Result {
  return {
    json: { id, name, plan },
    text: fields([
      ["id", id],
      ["name", name],
      ["plan", plan],
      ["messages a month", cap],
      ["sessions kept", retentionDays === 0 ? "without limit" : `${retentionDays} days`],
    ]),
  };
}
