import { Argument, type CommandUnknownOpts } from "@commander-js/extra-typings";
import { type Plan, PlanSchema, WorkspaceAdminService } from "@parley/rpc/quota";
import { requireField } from "../admin/require-field.ts";
import type { Context } from "../context.ts";
import { CliError } from "../errors.ts";
import { messageToJson } from "../output/json.ts";
import { formatTable } from "../output/table.ts";
import { PLANS, wholeNumberParser } from "./options.ts";

const MAX_LIMIT = 2_000_000_000;
const MAX_OVERAGE = 1_000_000_000;

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
    .description("Change a plan's limits.")
    .addArgument(new Argument("<plan>", "Choose the plan.").choices(PLANS))
    .option("--documents <n>", "Set the documents of a workspace.", wholeNumberParser(0, MAX_LIMIT))
    .option("--characters <n>", "Set the characters of their text.", wholeNumberParser(0, MAX_LIMIT))
    .option("--overage <n>", "Set the messages beyond the cap.", wholeNumberParser(0, MAX_OVERAGE))
    .action((name, { documents, characters, overage }) => {
      if (documents === undefined && characters === undefined && overage === undefined)
        throw new CliError("set --documents, --characters or --overage");
      return report(
        callAdmin(WorkspaceAdminService, async (service) => {
          let plan: Plan | undefined;
          if (documents !== undefined || characters !== undefined) {
            const knowledge = {
              ...(documents !== undefined && { knowledgeDocuments: documents }),
              ...(characters !== undefined && { knowledgeCharacters: characters }),
            };
            ({ plan } = await service.setKnowledgeLimits({ plan: name, ...knowledge }));
          }
          if (overage !== undefined) ({ plan } = await service.setOverage({ plan: name, overage }));
          const changed = requireField(plan);
          return { json: messageToJson(PlanSchema, changed), text: formatPlans([changed]) };
        }),
      );
    });
}

function formatPlans(plans: readonly Plan[]): string {
  return formatTable(
    ["plan", "messages a month", "overage", "documents", "characters"],
    plans.map(({ name, cap, overage, knowledgeDocuments, knowledgeCharacters }) => [
      name,
      cap,
      overage,
      knowledgeDocuments,
      knowledgeCharacters,
    ]),
    "No plans.",
  );
}
