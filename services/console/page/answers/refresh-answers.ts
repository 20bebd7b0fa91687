import type { QueryClient } from "@tanstack/react-query";
import { answersQuery, unansweredKey } from "../api/question-queries.ts";

/** Reads the answers again, and the unanswered questions, because an answer may answer some of them. */
export async function refreshAnswers(queryClient: QueryClient, workspaceId: string, botSlug: string): Promise<void> {
  await Promise.all([
    queryClient.invalidateQueries(answersQuery(workspaceId, botSlug)),
    queryClient.invalidateQueries({ queryKey: unansweredKey(workspaceId, botSlug) }),
  ]);
}
