import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { EvaluationAdminService, EvaluationCaseSchema, EvaluationRunSchema } from "@parley/rpc/conversation";
import { type Database, FairQueue, notFound, ServiceError } from "@parley/service-kit";
import { listAnswers, prepareQuestions } from "../answers/index.ts";
import { requireBotId } from "../bots/index.ts";
import {
  deleteCase,
  type EvaluationCase,
  hasDocument,
  insertCase,
  insertRun,
  listCases,
  listRuns,
  type StoredRun,
} from "./evaluations.store.ts";
import { type CaseSearch, runEvaluation } from "./run-evaluation.service.ts";

const MAX_CASES = 200;

/** Evaluates a bot's search and its owner's answers with cases. A case is a question and the document that the search must find for it. */
export function createEvaluationAdmin(
  database: Database,
  questionSearch: CaseSearch,
): ServiceImpl<typeof EvaluationAdminService> {
  const runLimiter = new FairQueue({ maxActiveOfWorkspace: 1 });
  return {
    async addCase(request) {
      const { workspaceId, document } = request;
      const question = request.question.trim();
      const bot = { workspaceId, botId: await requireBotId(database, request) };
      if (document.includes("\0") || (document !== "" && !(await hasDocument(database, bot, document))))
        throw notFound("source_not_found", "the bot has no document of this name");
      const added = await insertCase(database, bot, { question, document }, MAX_CASES);
      if (added === "exists")
        throw new ServiceError("already_exists", "case_exists", "the bot has a case with this question");
      if (added === "full")
        throw new ServiceError("resource_exhausted", "too_many_cases", `a bot has at most ${MAX_CASES} cases`);
      return { case: toCase(added) };
    },
    async removeCase(request) {
      const bot = { workspaceId: request.workspaceId, botId: await requireBotId(database, request) };
      if (!(await deleteCase(database, bot, request.id)))
        throw notFound("case_not_found", "the bot has no case with this ID");
      return {};
    },
    async getEvaluation(request) {
      const bot = { workspaceId: request.workspaceId, botId: await requireBotId(database, request) };
      const cases = await listCases(database, bot);
      const runs = await listRuns(database, bot);
      return { cases: cases.map(toCase), runs: runs.map(toRun) };
    },
    async runEvaluation(request, { signal }) {
      const bot = { workspaceId: request.workspaceId, botId: await requireBotId(database, request) };
      return runLimiter.run(bot.workspaceId, signal, async () => {
        const cases = await listCases(database, bot);
        if (cases.length === 0) throw new ServiceError("failed_precondition", "no_cases", "the bot has no cases");
        questionSearch.requireSearchTimeLeft(bot.workspaceId);
        const answers = prepareQuestions(await listAnswers(database, bot));
        const run = await runEvaluation(questionSearch, bot, cases, { signal, answers });
        return { run: toRun(await insertRun(database, bot, run)) };
      });
    },
  };
}

function toCase({ id, question, document }: EvaluationCase): MessageInitShape<typeof EvaluationCaseSchema> {
  return { id: BigInt(id), question, document };
}

function toRun({ id, ranAt, results, ...run }: StoredRun): MessageInitShape<typeof EvaluationRunSchema> {
  return {
    ...run,
    id: BigInt(id),
    ranAt: ranAt.toISOString(),
    results: results.map(({ caseId, rank, answerId = 0 }) => ({
      caseId: BigInt(caseId),
      rank,
      answerId: BigInt(answerId),
    })),
  };
}
