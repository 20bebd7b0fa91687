import { toConnectError } from "../api/response-error.ts";
import { fetchWithSession, readText } from "../api/session-fetch.ts";

/** A private note about a conversation, as the edge lists it (docs/api.md). */
export type Note = {
  id: string;
  text: string;
  created_at: string;
  agent: { id: string; name: string };
  after_message_id: string;
};

export const notesQuery = (workspaceId: string, sessionId: string) => ({
  queryKey: ["notes", workspaceId, sessionId],
  queryFn: async (): Promise<readonly Note[]> => {
    const response = await fetchWithSession(`/api/conversations/${encodeURIComponent(sessionId)}/notes/`);
    if (!response.ok) throw await toConnectError(response);
    return (JSON.parse(await readText(response)) as { notes: Note[] }).notes;
  },
});
