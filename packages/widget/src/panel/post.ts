import type { PanelContext } from "../shared/types.ts";
import { readVisitorToken } from "./identity.ts";

const TIMEOUT_MS = 10_000;

/** Posts a rating or a stop request for a reply. Returns whether the service accepted it within 10 s. The request outlives the page. */
export async function post(
  { base, publicKey, visitor, signal }: PanelContext,
  path: "rating" | "stop",
  session: string,
  fields: Readonly<Record<string, unknown>>,
): Promise<boolean> {
  try {
    const visitor_token = await readVisitorToken(visitor, signal);
    const { ok } = await fetch(`${base}api/chat/${path}/`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ public_key: publicKey, session_id: session, visitor_token, ...fields }),
      credentials: "omit",
      keepalive: true,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    return ok;
  } catch {
    return false;
  }
}
