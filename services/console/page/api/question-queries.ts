import { queryOptions } from "@tanstack/react-query";
import { answers, evaluations, questions } from "./clients.ts";

/**
 * The passages that the bot's search finds for a question. A fetch may need an embedding, which the operator pays for, so the
 * query never refetches automatically.
 */
export const questionCheckQuery = (workspaceId: string, botSlug: string, question: string) =>
  queryOptions({
    queryKey: ["check", workspaceId, botSlug, question],
    queryFn: () => questions.checkQuestion({ workspaceId, botSlug, question }),
    enabled: botSlug !== "" && question !== "",
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });

/** The beginning of the keys of unansweredQuery. */
export const unansweredKey = (workspaceId: string, botSlug: string) => ["unanswered", workspaceId, botSlug];

export const unansweredQuery = (workspaceId: string, botSlug: string, days: number) =>
  queryOptions({
    queryKey: [...unansweredKey(workspaceId, botSlug), days],
    queryFn: () => questions.listUnanswered({ workspaceId, botSlug, days }),
    enabled: botSlug !== "",
  });

export const evaluationQuery = (workspaceId: string, botSlug: string) =>
  queryOptions({
    queryKey: ["evaluation", workspaceId, botSlug],
    queryFn: () => evaluations.getEvaluation({ workspaceId, botSlug }),
    enabled: botSlug !== "",
  });

/** The answers that the bot gives word for word, oldest first. */
export const answersQuery = (workspaceId: string, botSlug: string) =>
  queryOptions({
    queryKey: ["answers", workspaceId, botSlug],
    queryFn: async () => (await answers.listAnswers({ workspaceId, botSlug })).answers,
    enabled: botSlug !== "",
  });
