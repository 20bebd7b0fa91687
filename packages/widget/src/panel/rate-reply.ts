import type { PanelContext } from "../shared/types.ts";

/** Rates a reply, or clears its rating with "". Returns whether the service stored the rating. */
export async function rateReply(
  { base, publicKey, signal }: PanelContext,
  session: string,
  messageId: number,
  rating: "up" | "down" | "",
): Promise<boolean> {
  const response = fetch(`${base}api/chat/rating/`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ public_key: publicKey, session_id: session, message_id: messageId, rating }),
    credentials: "omit",
    signal,
  });
  return response.then(({ ok }) => ok).catch(() => false);
}
