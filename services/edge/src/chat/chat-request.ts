import { BotChangesSchema } from "@parley/rpc/conversation";
import { limitsOf } from "@parley/rpc/rules";
import Type, { type Static } from "typebox";
import { ChallengePass } from "../challenges/index.ts";
import { inKiB, MAX_LEVELS, MAX_STRUCTURE_BYTES } from "../http/index.ts";
import { MAX_METADATA_BYTES, MAX_VISITOR_ID_CHARACTERS, VisitorToken } from "../visitors/index.ts";

/**
 * Maximum body size of chat and playground requests. It has room for
 * - a message of 70,000 emoji in UTF-8 (280,000 bytes) and the longest other fields, so that a message that is far too long gets
 *   message_too_long and not payload_too_large;
 * - every valid request with all its strings escaped as \uXXXX, as some JSON encoders write them.
 */
export const MAX_TURN_BODY_BYTES = 300 * 1024;
export const MAX_MESSAGE_CHARACTERS = 4_000;
const MAX_CONSENT_VERSION_CHARACTERS = limitsOf(BotChangesSchema.field.consentVersion).max;

export const PublicKey = Type.String({
  minLength: 1,
  "x-not-blank": true,
  description: "The key from the widget's HTML.",
});
export const BotSlug = Type.String({
  minLength: 1,
  "x-not-blank": true,
  description: "The slug of the bot in the caller's workspace.",
});

/** A session id of which the contract says that it must not be blank, as for the other required fields. */
export const SessionId = Type.String({ format: "uuid", "x-not-blank": true, description: "The session." });

const TURN = {
  session_id: Type.String({
    format: "uuid",
    description: "A UUID that the client creates for a new session. Send it again to continue the session.",
  }),
  message: Type.String({
    minLength: 1,
    "x-not-blank": true,
    maxLength: MAX_MESSAGE_CHARACTERS,
    description: `The message; not blank, at most ${MAX_MESSAGE_CHARACTERS} Unicode code points.`,
  }),
  visitor_metadata: Type.Optional(
    Type.Unsafe<object>({
      type: "object",
      "x-safe-numbers": true,
      "x-max-bytes": MAX_METADATA_BYTES,
      description: `Any data about the visitor, stored with the session and shown in the export; at most ${inKiB(MAX_METADATA_BYTES)} and ${MAX_LEVELS - 1} levels. Metadata of a later turn replaces it.`,
    }),
  ),
};
const PARSING = `Parsed as JSON; \`Content-Type\` is ignored. At most ${inKiB(MAX_TURN_BODY_BYTES)}, at most ${MAX_LEVELS} levels of nesting, and at most ${inKiB(MAX_STRUCTURE_BYTES)} that are neither white space nor string content.`;

/** The body of POST /api/chat/. The order of the fields is the order of the checks. */
export const ChatRequest = Type.Object(
  {
    public_key: PublicKey,
    visitor_id: Type.Optional(
      Type.String({
        maxLength: MAX_VISITOR_ID_CHARACTERS,
        description:
          "The caller's own stable identifier of the visitor. If it replaces another id of the session, the model sees no earlier message.",
      }),
    ),
    ...TURN,
    visitor_token: VisitorToken,
    consent_version: Type.Optional(
      Type.String({
        maxLength: MAX_CONSENT_VERSION_CHARACTERS,
        description:
          "The version of the bot's consent that the visitor has agreed to: `consent.version` of the 403 `consent_required`. The session keeps it.",
      }),
    ),
    challenge_pass: ChallengePass,
  },
  { title: "ChatRequest", description: `A visitor's message. ${PARSING}` },
);

/** The body of POST /api/chat/playground/. */
export const PlaygroundRequest = Type.Object(
  { bot_slug: BotSlug, ...TURN },
  { title: "PlaygroundRequest", description: `A message of an owner or operator. ${PARSING}` },
);

/** Returns the fields of OpenTurn that chat and playground have in common. An absent field is empty. */
export function toTurnFields(body: Static<typeof ChatRequest> | Static<typeof PlaygroundRequest>) {
  const { session_id: sessionId, message, visitor_metadata: metadata } = body;
  const visitorMetadata = metadata === undefined ? "" : JSON.stringify(metadata);
  return { sessionId: sessionId.toLowerCase(), message, visitorMetadata };
}
