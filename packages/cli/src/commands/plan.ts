import { Argument, type CommandUnknownOpts } from "@commander-js/extra-typings";
import { type Plan, PlanSchema, WorkspaceAdminService } from "@parley/rpc/quota";
import { requireField } from "../admin/require-field.ts";
import type { Context } from "../context.ts";
import { CliError } from "../errors.ts";
import { messageToJson } from "../output/json.ts";
import { formatTable } from "../output/table.ts";
import { PLANS, wholeNumberParser } from "./options.ts";

const MAX_LIMIT = 2_000_000_000;

export function addPlanCommands(program: CommandUnknownOpts, { callAdmin, report }: Context): void {
  const group = program.command("plan").description("Show and change the plans' limits.");

  group
    .command("list")
    .description("List the plans with their limits.")
    .action(() =>
      report(
        callAdmin(WorkspaceAdminService, async (service) => {
          const { plans } = await service.listPlans({});
          return { json: plans.map((each) => messageToJson(PlanSchema, each)), text: formatPlans(plans) };
        }),
      ),
    );

  group
    .command("set")
    .description("Change how much knowledge a plan permits.")
    .addArgument(new Argument("<plan>", "Choose the plan.").choices(PLANS))
    .option("--documents <n>", "Set the documents of a workspace.", wholeNumberParser(0, MAX_LIMIT))
    .option("--characters <n>", "Set the characters of their text.", wholeNumberParser(0, MAX_LIMIT))
    .action((name, { documents, characters }) =>
      report(
        callAdmin(WorkspaceAdminService, async (service) => {
          if (documents === undefined && characters === undefined)
            throw new CliError("set --documents, --characters or both");
          const plan = requireField(
            (
              await service.setKnowledgeLimits({
                plan: name,
                ...(documents !== undefined && { knowledgeDocuments: documents }),
                ...(characters !== undefined && { knowledgeCharacters: characters }),
              })
            ).plan,
          );
          return { json: messageToJson(PlanSchema, plan), text: formatPlans([plan]) };
        }),
      ),
    );
}

function formatPlans(plans: readonly Plan[]): string {
  return formatTable(
    ["plan", "messages a month", "documents", "characters"],
    plans.map(({ name, cap, knowledgeDocuments, knowledgeCharacters }) => [
      name,
      cap,
      knowledgeDocuments,
      knowledgeCharacters,
    ]),
    "No plans.",
  );
}
