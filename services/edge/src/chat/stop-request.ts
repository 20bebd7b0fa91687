import Type, { type Static } from "typebox";
import { inKiB, MAX_SMALL_BODY_BYTES } from "../http/index.ts";
import { VisitorToken } from "../visitors/index.ts";
import { BotSlug, PublicKey, SessionId } from "./chat-request.ts";
import { IDEMPOTENCY_KEY } from "./turn-key.ts";

/** Names the reply to stop by its message id, or by the idempotency key of its request. */
export type StopTarget = { messageId: bigint } | { key: string };

/** A number, as in the `meta` event, or a string, as in an exported transcript. */
export const MessageId = Type.Union(
  [Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }), Type.String({ pattern: "^[1-9]\\d{0,15}$" })],
  { description: "The reply: `message_id` of its `meta` event, or `id` in the export." },
);

const REPLY = {
  session_id: SessionId,
  idempotency_key: Type.Optional(
    Type.String({ pattern: IDEMPOTENCY_KEY, description: "The `Idempotency-Key` of the message." }),
  ),
  message_id: Type.Optional(MessageId),
};
const EITHER = {
  if: { required: ["message_id"] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { properties: { idempotency_key: false } },
  else: { if: { required: ["idempotency_key"] }, else: { required: ["message_id"] } },
  description: `The reply to stop: \`message_id\` or \`idempotency_key\`, not both. At most ${inKiB(MAX_SMALL_BODY_BYTES)}.`,
};

/** The body of POST /api/chat/stop/. */
export const StopRequest = Type.Object(
  { public_key: PublicKey, ...REPLY, visitor_token: VisitorToken },
  { title: "StopRequest", ...EITHER },
);

/** The body of POST /api/chat/playground/stop/. */
export const PlaygroundStopRequest = Type.Object(
  { bot_slug: BotSlug, ...REPLY },
  { title: "PlaygroundStopRequest", ...EITHER },
);

export const StopResult = Type.Object(
  {
    status: Type.Enum(["done", "error", "blocked", "quota_exceeded", "cancelled", "interrupted", "handoff"], {
      description:
        "`cancelled`, or the outcome that the reply already has; `handoff` if the message has no reply, because a person answers it.",
    }),
  },
  { title: "StopResult" },
);

type Stop = Pick<Static<typeof StopRequest>, "message_id" | "idempotency_key">;

export function targetOf({ message_id: id, idempotency_key: key = "" }: Stop): StopTarget {
  return id === undefined ? { key } : { messageId: BigInt(id) };
}
