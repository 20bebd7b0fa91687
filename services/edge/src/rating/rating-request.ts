import Type from "typebox";
import { MessageId, PublicKey, SessionId } from "../chat/index.ts";
import { inKiB, MAX_SMALL_BODY_BYTES } from "../http/index.ts";
import { VisitorToken } from "../visitors/index.ts";

/** The body of POST /api/chat/rating/. */
export const RatingRequest = Type.Object(
  {
    public_key: PublicKey,
    session_id: SessionId,
    message_id: MessageId,
    rating: Type.Enum(["up", "down", ""], { description: "Empty removes the rating and its reason." }),
    reason: Type.Optional(
      Type.String({
        maxLength: 1_000,
        description:
          "The visitor's reason, for owners; replaces the earlier one. Must be empty or absent if `rating` is empty.",
      }),
    ),
    visitor_token: VisitorToken,
  },
  {
    title: "RatingRequest",
    description: `A visitor's rating of a reply. At most ${inKiB(MAX_SMALL_BODY_BYTES)}.`,
    if: { properties: { rating: { const: "" } } },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { properties: { reason: { type: "string", maxLength: 0 } } },
  },
);
