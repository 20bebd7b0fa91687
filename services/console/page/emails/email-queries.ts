import type { EmailMessage } from "@parley/rpc/conversation";
import { queryOptions } from "@tanstack/react-query";
import { emails } from "../api/clients.ts";

/** A message waits up to a second for its attempt, which takes up to 20 s. */
const ATTEMPT_TIMEOUT_MS = 30_000;
const POLL_MS = 500;

export const recipientsQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ["email-recipients", workspaceId],
    queryFn: () => emails.listRecipients({ workspaceId }),
  });

/** Sends a test message and waits for its first attempt. Returns undefined if it still waits after 30 s. */
export async function sendTestEmail(workspaceId: string, id: string): Promise<EmailMessage | undefined> {
  const { eventId } = await emails.sendTestEmail({ workspaceId, id });
  const deadline = performance.now() + ATTEMPT_TIMEOUT_MS;
  while (performance.now() < deadline) {
    await new Promise((done) => setTimeout(done, POLL_MS));
    const { recipients } = await emails.listRecipients({ workspaceId });
    const last = recipients.find((each) => each.id === id)?.lastMessage;
    if (last?.eventId === eventId && (last.status !== "pending" || last.error !== "")) return last;
  }
  return undefined;
}
