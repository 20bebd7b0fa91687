import { Argument, type CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import { type Workspace, WorkspaceAdminService, WorkspaceSchema } from "@parley/rpc/quota";
import { answered } from "../admin/answered.ts";
import type { Context } from "../context.ts";
import { messageJson } from "../output/json.ts";
import type { Result } from "../output/result.ts";
import { fields, table } from "../output/table.ts";
import { PLANS, wholeNumber } from "./options.ts";

export function addWorkspaceCommands(program: CommandUnknownOpts, { admin, report }: Context): void {
  const group = program.command("workspace").description("workspaces and their plans");

  group
    .command("create")
    .description("make a workspace")
    .requiredOption("--name <name>", "its name")
    .addOption(new Option("--plan <plan>", "its plan").choices(PLANS).makeOptionMandatory())
    .option("--id <id>", "its id, where the single sign-on has one already; made up unless given")
    .action(({ name, plan, id = "" }) =>
      report(
        admin(WorkspaceAdminService, async (service) =>
          one(answered((await service.createWorkspace({ name, plan, id })).workspace)),
        ),
      ),
    );

  group
    .command("list")
    .description("list every workspace, oldest first")
    .action(() =>
      report(
        admin(WorkspaceAdminService, async (service) => {
          const { workspaces } = await service.listWorkspaces({});
          return {
            json: workspaces.map((each) => messageJson(WorkspaceSchema, each)),
            text: table(
              ["id", "name", "plan", "messages a month", "created"],
              workspaces.map(({ id, name, plan, cap, createdAt }) => [id, name, plan, cap, createdAt]),
              "No workspaces yet: parley workspace create --name N --plan free",
            ),
          };
        }),
      ),
    );

  group
    .command("set")
    .description("change what a workspace keeps")
    .argument("<id>", "the workspace")
    .requiredOption(
      "--retention-days <days>",
      "erase conversations this long after their last message; 0 keeps them",
      wholeNumber(0, 3_650),
    )
    .action((workspaceId, { retentionDays }) =>
      report(
        admin(WorkspaceAdminService, async (service) => {
          const workspace = answered((await service.setRetention({ workspaceId, retentionDays })).workspace);
          return { ...one(workspace), json: messageJson(WorkspaceSchema, workspace) };
        }),
      ),
    );

  group
    .command("set-plan")
    .description("change a workspace's plan; the new cap holds from the next reply on")
    .argument("<id>", "the workspace")
    .addArgument(new Argument("<plan>", "its new plan").choices(PLANS))
    .action((workspaceId, plan) =>
      report(
        admin(WorkspaceAdminService, async (service) =>
          one(answered((await service.setPlan({ workspaceId, plan })).workspace)),
        ),
      ),
    );
}

function one({ id, name, plan, cap, retentionDays }: Workspace): Result {
  return {
    json: { id, name, plan },
    text: fields([
      ["id", id],
      ["name", name],
      ["plan", plan],
      ["messages a month", cap],
      ["conversations kept", retentionDays === 0 ? "for ever" : `${retentionDays} days`],
    ]),
  };
}
