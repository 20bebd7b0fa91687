import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import {
  type CheckQuestionResponse,
  CheckQuestionResponseSchema,
  EvaluationAdminService,
  type EvaluationCase,
  type EvaluationResult,
  type EvaluationRun,
  EvaluationRunSchema,
  ListUnansweredResponseSchema,
  QuestionAdminService,
} from "@parley/rpc/conversation";
import { requireField } from "../../admin/require-field.ts";
import type { Context } from "../../context.ts";
import { messageToJson } from "../../output/json.ts";
import { printable } from "../../output/printable.ts";
import { formatCount, formatTable } from "../../output/table.ts";
import { botOption, wholeNumberParser, workspaceOption } from "../options.ts";

const NO_PASSAGES = "No passage was found: a reply would not be based on the knowledge.";
const NO_UNANSWERED = "No unanswered questions.";

/** Adds the commands about questions (`try`, `unanswered` and `evaluate`) to `parley knowledge`. */
export function addQuestionCommands(group: CommandUnknownOpts, { callAdmin, report }: Context): void {
  group
    .command("try")
    .description("Show the passages found for a question.")
    .argument("<question>", "Set the question.")
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .action((question, { workspace: workspaceId, bot: botSlug }) =>
      report(
        callAdmin(QuestionAdminService, async (service) => {
          const checked = await service.checkQuestion({ workspaceId, botSlug, question });
          return { json: messageToJson(CheckQuestionResponseSchema, checked), text: formatChecked(checked) };
        }),
      ),
    );

  group
    .command("unanswered")
    .description("List questions without an answer or with a rated-down reply.")
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .option("--days <days>", "Set the period in days.", wholeNumberParser(1, 90), 30)
    .action(({ workspace: workspaceId, bot: botSlug, days }) =>
      report(
        callAdmin(QuestionAdminService, async (service) => {
          const listed = await service.listUnanswered({ workspaceId, botSlug, days });
          const rows = listed.questions.map(
            ({ count, ungrounded, declined, ratedDown, lastAt, sessionId, answeredBy, answeredByAnswer, example }) => [
              ...[count, ungrounded, declined, ratedDown],
              ...[lastAt, sessionId],
              answeredByAnswer === 0n ? answeredBy : `answer ${answeredByAnswer}`,
              example,
            ],
          );
          const titles = [
            "count",
            "no passage",
            "declined",
            "rated down",
            "last",
            "session",
            "answered by",
            "question",
          ];
          const note = listed.partial
            ? `Only the latest ${listed.repliesRead} unanswered or rated-down replies were read.\n`
            : "";
          return {
            json: messageToJson(ListUnansweredResponseSchema, listed),
            text: `${formatTable(titles, rows, NO_UNANSWERED)}${note}`,
          };
        }),
      ),
    );

  group
    .command("evaluate")
    .description("Search with each question of the evaluation set.")
    .requiredOption(...workspaceOption)
    .requiredOption(...botOption)
    .action(({ workspace: workspaceId, bot: botSlug }) =>
      report(
        callAdmin(EvaluationAdminService, async (service) => {
          const { cases, runs } = await service.getEvaluation({ workspaceId, botSlug });
          const run = requireField((await service.runEvaluation({ workspaceId, botSlug })).run);
          return { json: messageToJson(EvaluationRunSchema, run), text: formatRun(run, runs[0], cases) };
        }),
      ),
    );
}

function formatChecked({ passages, grounded, semanticSearch }: CheckQuestionResponse): string {
  const rows = passages.map(({ score, wordRank, similarity, document, heading, used }, index) => [
    index + 1,
    score.toFixed(4),
    wordRank?.toFixed(3) ?? "",
    similarity?.toFixed(3) ?? "",
    used ? "yes" : "no",
    heading === "" ? document : `${document} › ${heading}`,
  ]);
  const titles = ["place", "score", "words", "meaning", "used", "passage"];
  const notes = [
    grounded && "The model would look for the answer in the passages that are used.",
    !["", "ok"].includes(semanticSearch) &&
      `Only words were compared. Result of the semantic search: ${printable(semanticSearch)}.`,
  ].filter((note) => note !== false);
  return [formatTable(titles, rows, NO_PASSAGES), ...notes.map((note) => `${note}\n`)].join("");
}

function formatRun(run: EvaluationRun, previous: EvaluationRun | undefined, cases: readonly EvaluationCase[]): string {
  const previousPlaces = new Map(previous?.results.map((result) => [result.caseId, formatPlace(result)]));
  const caseOf = new Map(cases.map((each) => [each.id, each]));
  const rows = run.results.map((result) => {
    const { question = "", document = "" } = caseOf.get(result.caseId) ?? {};
    return [formatPlace(result), previousPlaces.get(result.caseId) ?? "", document, question];
  });
  const notes = [
    `The expected document or an answer was found for ${formatRecall(run)}${previous ? `, previously for ${formatRecall(previous)}` : ""}.`,
    run.searched < run.cases &&
      `${formatCount(run.cases - run.searched, "question was", "questions were")} not searched: the time limit was reached.`,
    run.semanticFailures > 0 && `Semantic search failed for ${formatCount(run.semanticFailures, "question")}.`,
  ].filter((note) => note !== false);
  const table = formatTable(["place", "before", "document", "question"], rows, "No question was searched.");
  return [table, ...notes.map((note) => `${note}\n`)].join("");
}

function formatPlace({ rank, answerId }: EvaluationResult): string {
  if (answerId !== 0n) return `answer ${answerId}`;
  return rank === 0 ? "none" : String(rank);
}

function formatRecall({ found, searched }: EvaluationRun): string {
  return `${found} of ${formatCount(searched, "question")}`;
}
