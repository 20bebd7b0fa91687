import { isUuid } from "@parley/service-kit";
import { requiredText } from "../chat/index.ts";
import { HttpError, invalidMessage, type JsonObject, parseJsonObject } from "../http/index.ts";

export type RatingRequest = { publicKey: string; sessionId: string; messageId: bigint; rating: "up" | "down" | "" };

/** Room for a key of some thousand characters, so that a key that cannot exist is still answered as one. */
export const MAX_RATING_BODY_BYTES = 8 * 1024;
const RATINGS = ["up", "down", ""] as const;
const DECIMAL = /^[1-9]\d{0,15}$/;

/** Reads the body of POST /api/chat/rating/; the message id as the meta event gave it, or as the export writes it. */
export function parseRatingRequest(bytes: Uint8Array | undefined): RatingRequest {
  const body = parseJsonObject(bytes);
  const publicKey = requiredText(body, "public_key");
  const sessionId = requiredText(body, "session_id");
  const rating = RATINGS.find((each) => each === body.rating);
  const messageId = parseMessageId(body);
  if (rating === undefined) throw invalidMessage();
  if (!isUuid(sessionId)) throw new HttpError(400, "invalid_session_id");
  return { publicKey, sessionId: sessionId.toLowerCase(), messageId, rating };
}

function parseMessageId(body: JsonObject): bigint {
  const { message_id: id } = body;
  const text = typeof id === "number" && Number.isSafeInteger(id) ? String(id) : id;
  if (typeof text !== "string" || !DECIMAL.test(text)) throw invalidMessage();
  return BigInt(text);
}
