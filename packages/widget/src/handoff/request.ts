import type { ChunkContext } from "../panel/chunk.ts";
import { readVisitorToken } from "../panel/identity.ts";
import { Failure } from "../shared/failure.ts";
import { pause } from "../shared/pause.ts";
import type { HandoffState } from "./status.ts";

const TIMEOUT_MS = 10_000;
const REPEAT_AFTER_MS = 1_000;

/**
 * Posts a request about people, and returns who answers then. If no response arrives, repeats the request once: the service may have received it, and
 * repeating it changes nothing. Throws a Failure if the service refuses the request.
 */
export async function postRequest(
  { base, publicKey, visitor }: ChunkContext,
  path: "handoff" | "contact",
  fields: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<HandoffState> {
  const visitor_token = await readVisitorToken(visitor, signal);
  const body = JSON.stringify({ public_key: publicKey, visitor_token, ...fields });
  const post = () =>
    fetch(`${base}api/chat/${path}/`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body,
      credentials: "omit",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  const response = await post().catch(async () => {
    await pause(REPEAT_AFTER_MS, signal);
    signal.throwIfAborted();
    return post();
  });
  if (!response.ok) {
    throw await Failure.from(response);
  }
  return (await response.json()) as HandoffState;
}
