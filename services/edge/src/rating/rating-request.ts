import { isUuid } from "@parley/service-kit";
import { invalidSessionId, parseMessageId, readOptionalText, readRequiredText } from "../chat/index.ts";
import { invalidMessage, parseJsonObject } from "../http/index.ts";

export type RatingRequest = {
  publicKey: string;
  sessionId: string;
  messageId: bigint;
  rating: "up" | "down" | "";
  /** Empty if absent. */
  reason: string;
};

const RATINGS = ["up", "down", ""] as const;
const MAX_REASON_CHARACTERS = 1_000;

/** Parses the body of POST /api/chat/rating/. Accepts the message id as a number (as in the `meta` event) or a string (as in the export). */
export function parseRatingRequest(bytes: Uint8Array | undefined): RatingRequest {
  const body = parseJsonObject(bytes);
  const publicKey = readRequiredText(body, "public_key");
  const sessionId = readRequiredText(body, "session_id");
  const rating = RATINGS.find((each) => each === body.rating);
  const messageId = parseMessageId(body.message_id);
  if (rating === undefined) throw invalidMessage("rating");
  const reason = readOptionalText(body, "reason", MAX_REASON_CHARACTERS);
  if (reason !== "" && rating === "") throw invalidMessage("reason");
  if (!isUuid(sessionId)) throw invalidSessionId();
  return { publicKey, sessionId: sessionId.toLowerCase(), messageId, rating, reason };
}
