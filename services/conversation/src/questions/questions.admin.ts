import type { ServiceImpl } from "@connectrpc/connect";
import type { QuestionAdminService } from "@parley/rpc/conversation";
import type { Database } from "@parley/service-kit";
import { requireBotId } from "../bots/index.ts";
import { QUESTION_WORDS } from "../knowledge/index.ts";
import type { OwnerReadPool } from "../sessions/index.ts";
import { splitAnswered } from "./answered-groups.service.ts";
import { groupQuestions } from "./group-questions.ts";
import type { QuestionSearch } from "./question-search.service.ts";
import { readUnanswered } from "./unanswered.store.ts";

const DEFAULT_DAYS = 30;

export type QuestionAdminDeps = {
  database: Database;
  questionSearch: QuestionSearch;
  ownerReadPool: Pick<OwnerReadPool, "database" | "limiter">;
};

/** Implements the admin service that searches a bot's knowledge for an owner's question and lists visitors' unanswered questions. */
export function createQuestionAdmin({
  database,
  questionSearch,
  ownerReadPool,
}: QuestionAdminDeps): ServiceImpl<typeof QuestionAdminService> {
  return {
    async checkQuestion(request) {
      const { workspaceId } = request;
      const question = request.question.trim();
      const botId = await requireBotId(database, request);
      questionSearch.requireSearchTimeLeft(workspaceId);
      const knowledge = await questionSearch.readKnowledge(workspaceId, botId);
      const { passages, usedPassages, semanticResult } = await questionSearch.search(knowledge, question);
      return {
        passages: passages.map(({ source, heading, text, score, wordRank, similarity }, index) => ({
          document: source,
          heading,
          text,
          score,
          ...(wordRank !== undefined && { wordRank }),
          ...(similarity !== undefined && { similarity }),
          used: index < usedPassages.length,
        })),
        grounded: usedPassages.length > 0,
        semanticSearch: semanticResult ?? "",
      };
    },
    async listUnanswered(request, { signal }) {
      const { workspaceId } = request;
      const botId = await requireBotId(database, request);
      const { languages, chunks } = await questionSearch.readKnowledge(workspaceId, botId);
      const hasKnowledge = chunks > 0;
      const { groups, listed, repliesRead, isPartial } = await ownerReadPool.limiter.run(
        workspaceId,
        signal,
        async () => {
          const unanswered = await readUnanswered(ownerReadPool.database, {
            workspaceId,
            botId,
            days: request.days || DEFAULT_DAYS,
            languages: languages.length > 0 ? languages : ["simple"],
            hasKnowledge,
            questionWords: [...QUESTION_WORDS],
          });
          const groups = groupQuestions(unanswered.questions);
          const listed = await splitAnswered(ownerReadPool.database, { workspaceId, botId }, groups);
          return { ...unanswered, groups: groups.length, listed };
        },
      );
      return {
        questions: listed.map(({ lexemes: _, lastAt, answeredByAnswer, ...group }) => ({
          ...group,
          lastAt: new Date(lastAt).toISOString(),
          answeredByAnswer: BigInt(answeredByAnswer),
        })),
        groups,
        repliesRead,
        partial: isPartial,
        hasKnowledge,
      };
    },
  };
}
