import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { type Answer, AnswerAdminService, AnswerSchema, CheckMessageResponseSchema } from "@parley/rpc/conversation";
import { requireField } from "../../admin/require-field.ts";
import type { Context } from "../../context.ts";
import { CliError } from "../../errors.ts";
import { messageToJson } from "../../output/json.ts";
import { formatFields, formatTable } from "../../output/table.ts";
import { botOption, refuseEmpty, wholeNumberParser, workspaceOption } from "../options.ts";

const idArgument = ["<id>", "Select the answer by its ID.", wholeNumberParser(1, Number.MAX_SAFE_INTEGER)] as const;

export function addAnswerCommands(program: CommandUnknownOpts, { callAdmin, report }: Context): void {
  const group = program.command("answer").description("Manage answers that a bot gives word for word.");

  group
    .command("add")
    .description("Add an answer, effective within 5 s.")
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .requiredOption("--question <texts...>", "Set the ways in which visitors ask for it.")
    .requiredOption("--answer <text>", "Set the answer, in Markdown.", refuseEmpty)
    .action(({ workspace: workspaceId, bot: botSlug, question: questions, answer }) =>
      report(
        callAdmin(AnswerAdminService, async (service) =>
          describe(requireField((await service.addAnswer({ workspaceId, botSlug, questions, answer })).answer)),
        ),
      ),
    );

  group
    .command("update")
    .description("Change an answer, effective within 5 s.")
    .argument(...idArgument)
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .option("--question <texts...>", "Replace the ways in which visitors ask for it.")
    .option("--answer <text>", "Set the answer, in Markdown.", refuseEmpty)
    .action((id, { workspace: workspaceId, bot: botSlug, question: questions = [], answer }) => {
      if (questions.length === 0 && answer === undefined)
        throw new CliError("give --question or --answer", { exitCode: 2 });
      const changes = { questions, ...(answer !== undefined && { answer }) };
      return report(
        callAdmin(AnswerAdminService, async (service) =>
          describe(
            requireField((await service.updateAnswer({ workspaceId, botSlug, id: BigInt(id), ...changes })).answer),
          ),
        ),
      );
    });

  group
    .command("list")
    .description("List a bot's answers, oldest first.")
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .action(({ workspace: workspaceId, bot: botSlug }) =>
      report(
        callAdmin(AnswerAdminService, async (service) => {
          const { answers } = await service.listAnswers({ workspaceId, botSlug });
          return {
            json: answers.map((each) => messageToJson(AnswerSchema, each)),
            text: formatTable(
              ["id", "questions", "answer"],
              answers.map((each) => [each.id.toString(), each.questions.join(" / "), each.answer]),
              "No answers. Add one with parley answer add --workspace W --bot S --question Q --answer A",
            ),
          };
        }),
      ),
    );

  group
    .command("check")
    .description("Show which answer a message would get.")
    .argument("<message>", "Set the message.")
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .action((message, { workspace: workspaceId, bot: botSlug }) =>
      report(
        callAdmin(AnswerAdminService, async (service) => {
          const checked = await service.checkMessage({ workspaceId, botSlug, message });
          const { answer, question, similarity, given } = checked;
          return {
            json: messageToJson(CheckMessageResponseSchema, checked),
            text:
              answer === undefined
                ? "No question is similar, so the model answers.\n"
                : formatFields([
                    ["id", answer.id.toString()],
                    ["question", question],
                    ["similarity", similarity.toFixed(2)],
                    ["reply", given ? answer.answer : "the model answers"],
                  ]),
          };
        }),
      ),
    );

  group
    .command("remove")
    .description("Remove an answer.")
    .argument(...idArgument)
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .action((id, { workspace: workspaceId, bot: botSlug }) =>
      report(
        callAdmin(AnswerAdminService, async (service) => {
          await service.removeAnswer({ workspaceId, botSlug, id: BigInt(id) });
          return { json: { id, removed: true }, text: `Removed answer ${id}.\n` };
        }),
      ),
    );
}

function describe(answer: Answer) {
  return {
    json: messageToJson(AnswerSchema, answer),
    text: formatFields([
      ["id", answer.id.toString()],
      ["questions", answer.questions.join(" / ")],
      ["answer", answer.answer],
    ]),
  };
}
