import { queryOptions } from "@tanstack/react-query";
import { evaluations, questions } from "./clients.ts";

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

export const unansweredQuery = (workspaceId: string, botSlug: string, days: number) =>
  queryOptions({
    queryKey: ["unanswered", workspaceId, botSlug, days],
    queryFn: () => questions.listUnanswered({ workspaceId, botSlug, days }),
    enabled: botSlug !== "",
  });

export const evaluationQuery = (workspaceId: string, botSlug: string) =>
  queryOptions({
    queryKey: ["evaluation", workspaceId, botSlug],
    queryFn: () => evaluations.getEvaluation({ workspaceId, botSlug }),
    enabled: botSlug !== "",
  });
