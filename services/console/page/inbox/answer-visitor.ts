import { toConnectError } from "../api/response-error.ts";
import { fetchWithSession } from "../api/session-fetch.ts";
import type { Colleague } from "./handoffs-store.ts";

/** Changes who answers the visitor. The console's server adds who asks for it. Throws like fetchWithSession, and ConnectError. */
export const changeHandoff = (sessionId: string, action: "take" | "assign" | "resolve" | "typing") =>
  post(sessionId, "handoff", { action });

/** Hands the conversation to a colleague. Throws as changeHandoff. */
export const handTo = (sessionId: string, { id, name }: Colleague) =>
  post(sessionId, "handoff", { action: "assign", colleague: { id, name } });

/** Ends the wait for an e-mail, unless the visitor has left a message after `contactId`. Throws as changeHandoff. */
export const finishContact = (sessionId: string, contactId: string) =>
  post(sessionId, "handoff", { action: "contact_done", contact_id: contactId });

/** Sends a message to the visitor. A repeat with the same `requestId` sends nothing. Throws as changeHandoff. */
export const sendAnswer = (sessionId: string, text: string, requestId: string) =>
  post(sessionId, "messages", { text, request_id: requestId });

/** Adds a private note. Of a repeat with the same `requestId`, adds nothing. Throws as changeHandoff. */
export const addNote = (sessionId: string, text: string, requestId: string) =>
  post(sessionId, "notes", { text, request_id: requestId });

async function post(sessionId: string, path: string, body: object): Promise<void> {
  const response = await fetchWithSession(`/api/conversations/${encodeURIComponent(sessionId)}/${path}/`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw await toConnectError(response);
}
