import type { ServiceImpl } from "@connectrpc/connect";
import type { AnswerAdminService } from "@parley/rpc/conversation";
import { type Database, invalidArgument, notFound, ServiceError } from "@parley/service-kit";
import { requireBotId } from "../bots/index.ts";
import { deleteAnswer, insertAnswer, listAnswers, type StoredAnswer, updateAnswer } from "./answers.store.ts";
import { findNearest, prepareQuestions, toWords } from "./match-question.ts";

const MAX_ANSWERS = 200;

export function createAnswerAdmin(database: Database): ServiceImpl<typeof AnswerAdminService> {
  return {
    async addAnswer(request) {
      const { workspaceId, answer } = request;
      const questions = requireQuestions(request.questions);
      const botId = await requireBotId(database, request);
      const stored = await insertAnswer(database, { workspaceId, botId }, { questions, answer }, MAX_ANSWERS);
      if (stored === undefined)
        throw new ServiceError("resource_exhausted", "too_many_answers", `a bot has at most ${MAX_ANSWERS} answers`);
      return { answer: toMessage(stored) };
    },
    async updateAnswer(request) {
      const { workspaceId, id, answer } = request;
      const questions = request.questions.length > 0 ? requireQuestions(request.questions) : undefined;
      const botId = await requireBotId(database, request);
      const changes = { id, ...(questions && { questions }), ...(answer !== undefined && { answer }) };
      const stored = await updateAnswer(database, { workspaceId, botId }, changes);
      if (stored === undefined) throw answerNotFound();
      return { answer: toMessage(stored) };
    },
    async listAnswers(request) {
      const botId = await requireBotId(database, request);
      return { answers: (await listAnswers(database, { workspaceId: request.workspaceId, botId })).map(toMessage) };
    },
    async removeAnswer(request) {
      const { workspaceId, id } = request;
      const botId = await requireBotId(database, request);
      if (!(await deleteAnswer(database, { workspaceId, botId }, id))) throw answerNotFound();
      return {};
    },
    async checkMessage(request) {
      const { workspaceId, message } = request;
      const botId = await requireBotId(database, request);
      const answers = await listAnswers(database, { workspaceId, botId });
      const nearest = findNearest(message, prepareQuestions(answers));
      const found = answers.find(({ id }) => id === nearest?.answerId);
      if (nearest === undefined || found === undefined) return {};
      const { question, similarity, isMatch } = nearest;
      return { answer: toMessage(found), question, similarity, given: isMatch };
    },
  };
}

/** Returns the questions without repetitions. Throws if one has no word, because no message would ask it. */
function requireQuestions(questions: readonly string[]): string[] {
  const trimmed = [...new Set(questions.map((each) => each.trim()))];
  if (trimmed.some((each) => toWords(each).length === 0)) throw invalidArgument("questions must each have a word");
  return trimmed;
}

function answerNotFound(): ServiceError {
  return notFound("answer_not_found", "the bot has no such answer");
}

function toMessage({ id, questions, answer }: StoredAnswer) {
  return { id: BigInt(id), questions, answer };
}
