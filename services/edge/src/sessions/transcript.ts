import Type from "typebox";
import { MessageSource } from "../chat/index.ts";

export const time = (description: string) =>
  Type.String({
    pattern: "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{6}\\+00:00$",
    description: `${description} ISO 8601 in UTC, with microseconds.`,
    examples: ["2026-11-21T09:30:00.123456+00:00"],
  });
const anyObject = (description: string) => Type.Unsafe<object>({ type: "object", description });
const amount = (description: string) => Type.Integer({ description, minimum: 0 });

export const Session = Type.Object(
  {
    id: Type.String({ format: "uuid" }),
    bot_slug: Type.String({ description: "The slug of its bot." }),
    source: Type.Enum(["widget", "playground"], { description: "Where the session took place." }),
    visitor_id: Type.String({
      description: "The `visitor_id` of the request; in the playground the user id; may be empty.",
    }),
    visitor_metadata: anyObject("The `visitor_metadata` of the request."),
    referrer: Type.String({ description: "The `Referer` of its first message; may be empty." }),
    user_agent: Type.String({ description: "The `User-Agent` of its first message; may be empty." }),
    started_at: time("When the session began."),
    last_activity_at: time("When the session was last active."),
  },
  { title: "Session", description: "A session." },
);

const ToolCall = Type.Object({
  name: Type.String({ description: "The name of the tool." }),
  arguments: anyObject("The model's arguments; empty if they were not an object."),
  status: Type.Enum(
    ["ok", "failed", "timeout", "too_large", "invalid_arguments", "unknown_tool", "not_allowed", "over_limit"],
    { type: "string", description: "`ok`, or why the call failed." },
  ),
  latency_ms: amount("Milliseconds from the call to its result."),
});

export const MESSAGE_ID = Type.String({
  description: "Decimal digits. For a reply, the `message_id` of its `meta` event.",
  pattern: "^\\d+$",
});

const Message = Type.Object(
  {
    id: MESSAGE_ID,
    role: Type.Enum(["user", "assistant"]),
    content: Type.String({ description: "The text; of an incomplete reply, the part that was received." }),
    rating: Type.Enum(["", "up", "down"], { description: "Empty if unrated." }),
    model: Type.String({
      pattern: "^$|^[^:]+:.+$",
      description: "`<provider>:<model_name>`; empty for the user's messages and if no model was called.",
      examples: ["openai:gpt-4o-mini"],
    }),
    tokens_in: amount("Tokens of the prompt; 0 for the user's messages."),
    tokens_out: amount("Tokens of the reply; 0 for the user's messages."),
    latency_ms: amount("Milliseconds from the request to the end of the reply; 0 for the user's messages."),
    status: Type.Enum(["done", "error", "blocked", "quota_exceeded", "cancelled", "interrupted"], {
      description:
        "How the message ended. `done`: complete. `error`: failed. `blocked`: blocked by a moderation pattern. `quota_exceeded`: no reply, because the quota was used up. `cancelled`: the visitor left or stopped the reply. `interrupted`: the service stopped.",
    }),
    error_message: Type.String({ description: "The error code; empty if the message did not fail." }),
    rag_chunks_used: Type.Array(Type.Integer(), { description: "The knowledge chunks in the model's prompt." }),
    tools_called: Type.Array(ToolCall, { description: "The tools that the model called for the reply, in order." }),
    created_at: time("When the message was written."),
  },
  { title: "Message", description: "A message." },
);

const ReviewedMessage = Type.Object(
  {
    ...Message.properties,
    rating_reason: Type.String({ description: "The visitor's reason for the rating; empty if none was given." }),
    review: Type.Enum(["", "good", "bad"], {
      description: "The review of an owner; empty if the message has none.",
    }),
    rag_chunks_cited: Type.Array(Type.Integer(), {
      description: "The knowledge chunks that the reply cites; empty if the bot showed no sources.",
    }),
    sources: Type.Array(MessageSource, { description: "The sources that the visitor saw below the reply." }),
    finish_detail: Type.String({
      description: "`length` if a limit of tokens cut the reply off, otherwise empty. New values may be added.",
    }),
  },
  { title: "ReviewedMessage", description: "A message with the review of an owner." },
);

const ORDER = { description: "The messages in chronological order, without turns that are still streaming." };

/** The conversation service writes transcripts and lines of exports as JSON; the edge forwards them. */
export const Transcript = Type.Object(
  { session: Session, messages: Type.Array(Message, ORDER) },
  { title: "Transcript", description: "The transcript of one session." },
);

const ContactMessage = Type.Object({
  id: Type.String({ format: "uuid" }),
  email: Type.String({ description: "Where the team replies." }),
  message: Type.String(),
  created_at: time("When it was left."),
});

const ExportedSession = Type.Object(
  {
    ...Session.properties,
    contact_messages: Type.Array(ContactMessage, {
      description: "What the visitor has left for the team with `/api/chat/contact/`, oldest first.",
    }),
  },
  { title: "ExportedSession", description: "A session with its contact messages." },
);

export const ExportLine = Type.Object(
  {
    session: ExportedSession,
    messages: Type.Array(ReviewedMessage, ORDER),
    cursor: Type.String({ description: "Continues the export after this line." }),
  },
  { title: "ExportLine" },
);
