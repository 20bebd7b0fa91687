import Type from "typebox";
import { eventStream, refused } from "../http/index.ts";
import { HandoffState } from "../turns/index.ts";

const amount = (description: string) => Type.Integer({ description, minimum: 0 });
const shownText = (description: string) => Type.String({ description, minLength: 1 });

const MetaEvent = Type.Object(
  {
    session_id: Type.String({ format: "uuid" }),
    message_id: Type.Integer({
      description: "The reply's id, below 2^53.",
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
    }),
  },
  { title: "MetaEvent", description: "Always the first event." },
);

const TokenEvent = Type.Object(
  { text: shownText("The text to append.") },
  { title: "TokenEvent", description: "A part of the reply's text, to append to the previous ones." },
);

const BlockedEvent = Type.Object(
  {
    reason: Type.String({ description: "The pattern's reason.", examples: ["blocked_pattern"] }),
    fallback: Type.String({ description: "The text to show instead of the reply." }),
  },
  { title: "BlockedEvent", description: "A moderation pattern matched. `done` follows at once." },
);

const QuotaExceeded = Type.Object(
  {
    code: Type.Literal("quota_exceeded"),
    plan: Type.Enum(["free", "pro", "scale"]),
    used: amount("Messages used, including replies in progress; at most `cap`."),
    cap: amount("Messages per month."),
    message: shownText("A text that can be shown to the visitor."),
  },
  {
    title: "QuotaExceeded",
    description: "The workspace has used up its monthly messages. No model was called.",
  },
);

const Failure = Type.Object(
  {
    code: Type.Enum([
      "busy",
      "provider_auth",
      "provider_rate_limited",
      "provider_timeout",
      "provider_error",
      "internal_error",
    ]),
    message: shownText("A text that can be shown to the visitor. Never the provider's own message."),
  },
  { title: "Failure", description: "A failure: its code and a message." },
);

const ErrorEvent = Type.Union([QuotaExceeded, Failure], {
  title: "ErrorEvent",
  description: "The reply failed. `done` follows.",
});

export const MessageSource = Type.Object(
  {
    number: Type.Integer({
      description: "The footnote number in the text, where it is in square brackets: `[1]`.",
      minimum: 1,
    }),
    title: Type.String({ description: "The document's title when the reply was written." }),
    url: Type.Optional(Type.String({ description: "The document's URL; absent if it is not a public page." })),
  },
  { title: "MessageSource", description: "A source of a reply." },
);

const SourcesEvent = Type.Object(
  { sources: Type.Array(MessageSource, { description: "In the order of their numbers.", minItems: 1 }) },
  {
    title: "SourcesEvent",
    description: "The documents that the text cites, if the bot shows sources. `done` follows.",
  },
);

const DoneEvent = Type.Object(
  {
    finish_reason: Type.Enum(["stop", "error", "blocked", "quota_exceeded", "cancelled", "handoff"], {
      description: "`handoff`: the message has no reply here, because a person of the team answers it.",
    }),
    tokens_in: amount("Tokens of the prompt."),
    tokens_out: amount("Tokens of the reply."),
    latency_ms: amount("Milliseconds from the request to the end of the reply."),
    model: Type.String({
      pattern: "^$|^[^:]+:.+$",
      description: "`<provider>:<model_name>` of the reply; empty if no model was called.",
      examples: ["openai:gpt-4o-mini"],
    }),
  },
  { title: "DoneEvent", description: "Always the last event, sent exactly once." },
);

const EXAMPLE = [
  'event: meta\ndata: {"session_id":"2f1c1d5e-8a31-4c0c-9f7e-0c8a6f6a9b11","message_id":1042}\n\n',
  'event: token\ndata: {"text":"Hello"}\n\n',
  'event: done\ndata: {"finish_reason":"stop","tokens_in":21,"tokens_out":34,"latency_ms":812,"model":"openai:gpt-4o-mini"}\n\n',
].join("");

/** The response of chat and playground. */
export const REPLY_STREAM = eventStream(
  "The reply as Server-Sent Events: first `meta`, then any number of `token`, then `blocked` if a moderation pattern matched or `error` if the reply failed, or `sources` if the bot shows sources and the text cites some, then `handoff` if the reply has asked for a person or a person has taken the conversation over, and always `done` last. Each event is an `event:` line, a `data:` line with a JSON object and an empty line. After 15 s of silence a comment line (`: …`) keeps the connection alive. Once the stream is open, failures are reported as events, not as statuses. With `Idempotency-Key`, each event begins with an `id:` line: the message id, a hyphen, and the number of UTF-16 code units of the text that the client has after the event. With `Last-Event-ID` and no `Idempotency-Key`, the stream is empty.",
  {
    meta: MetaEvent,
    token: TokenEvent,
    blocked: BlockedEvent,
    error: ErrorEvent,
    sources: SourcesEvent,
    handoff: HandoffState,
    done: DoneEvent,
  },
  { example: EXAMPLE },
);

/** The codes of a 400 of chat and playground. */
export const MESSAGE_CODES = [
  "invalid_json",
  "invalid_message",
  "message_too_long",
  "invalid_session_id",
  "invalid_idempotency_key",
  "invalid_last_event_id",
];

export const KEY_REUSED_OR_VISITOR_MISMATCH = refused(
  "The idempotency key was used with another message (`idempotency_key_reused`); or the request has a `visitor_token`, and the session another `visitor_id` (`visitor_mismatch`): start a new session.",
  "idempotency_key_reused",
  "visitor_mismatch",
);

export const KEY_REUSED = refused("The idempotency key was used with another message.", "idempotency_key_reused");
