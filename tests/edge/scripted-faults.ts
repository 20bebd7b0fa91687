import type { ReceivedRequest, Reply } from "@parley/test-support";
import { quickOrFull } from "@parley/test-support";

/** The text of the reply that the models `corrupt-N-G` and `damaged` change: see scriptedFaults. */
export const FULL_TEXT = "one two three four";
const TOKENS = FULL_TEXT.match(/\S+ ?/g) ?? [];

const CHUNK_EVENTS = [
  ...TOKENS.map((content) => ({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })),
  { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
].map((chunk) => `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", model: "m", ...chunk })}\n\n`);
/** The provider's SSE events as sent on the wire. */
const EVENTS = [...CHUNK_EVENTS, "data: [DONE]\n\n"];

/** Where in the reply's bytes each event ends. */
export const EVENT_ENDS = EVENTS.map((_, index) => EVENTS.slice(0, index + 1).join("").length);
/** The byte ranges inside JSON strings of the reply. A change there can leave the JSON valid, so that Parley cannot detect it. */
const STRINGS = [...EVENTS.join("").matchAll(/"(?:[^"\\]|\\.)*"/g)].map(
  ({ index, 0: literal }) => [index + 1, index + literal.length - 1] as const,
);
export const isInString = (at: number) => STRINGS.some(([start, end]) => at >= start && at < end);

/** The characters that the model `damaged` writes over its reply from byte `at`. The visitor's message is this object as JSON. */
export type Damage = { at: number; characters: string };

/** Number of events in the reply, including `[DONE]`. */
export const EVENT_COUNT = EVENTS.length;

/** The tokens of the model `flood` together exceed all buffers between the provider and the visitor. Each character takes six bytes as JSON. */
export const FLOOD_TOKENS = quickOrFull(1_300, 3_000);
export const FLOOD_TOKEN_CHARACTERS = 3_000;

export const LATE_USAGE_TEXT = "This is the whole reply";

/** Invalid events of the model `corrupt-N-G`. */
const GARBAGE = [
  "data: {broken\n\n",
  "data: \u0000\u0001\u0002\n\n",
  'data: {"error":{"message":"boom"}}\n\n',
  "data: \ud83d\n\n",
];

/**
 * Models in addition to those of the fake provider:
 * - `corrupt-N-G` sends invalid event number G instead of its event number N, both counted from 0;
 * - `flood` writes as fast as the llm-proxy reads;
 * - `damaged` overwrites part of its reply with the `Damage` in the visitor's message;
 * - `parrot-error` repeats the request in an error;
 * - `late-usage` sends its token counts 0.7 s after its finish reason.
 */
export function scriptedFaults({ model, body }: ReceivedRequest): Reply | undefined {
  const [, at, garbage] = /^corrupt-(\d+)-(\d+)$/.exec(model) ?? [];
  if (at !== undefined) {
    const events = EVENTS.with(Number(at), GARBAGE[Number(garbage)] ?? "");
    return { headers: { "content-type": "text/event-stream" }, body: events.join("") };
  }
  if (model === "damaged") {
    const { at, characters } = JSON.parse(lastMessage(body)) as Damage;
    const reply = EVENTS.join("");
    const damaged = reply.slice(0, at) + characters + reply.slice(at + characters.length);
    return { headers: { "content-type": "text/event-stream" }, body: damaged };
  }
  if (model === "flood")
    return { tokens: Array.from({ length: FLOOD_TOKENS }, () => "\u0001".repeat(FLOOD_TOKEN_CHARACTERS)) };
  if (model === "late-usage") return { tokens: LATE_USAGE_TEXT.match(/\S+ ?/g) ?? [], usageDelayMs: 700 };
  if (model === "parrot-error")
    return { status: 500, body: JSON.stringify({ error: { message: JSON.stringify(body) } }) };
  return undefined;
}

export const GARBAGE_COUNT = GARBAGE.length;

/** Returns the visitor's message in a request to the provider. */
export function lastMessage(body: unknown): string {
  const { messages = [] } = body as { messages?: { content: string }[] };
  return messages.at(-1)?.content ?? "";
}
