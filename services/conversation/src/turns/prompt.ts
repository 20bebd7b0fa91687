import { create, toBinary } from "@bufbuild/protobuf";
import type { Pattern } from "@parley/bot-rules/moderation";
import { PromptSchema, Role, type Tool } from "@parley/rpc/llm";

/** A chunk of knowledge that the search found for a message. */
export type Passage = { id: number; source: string; heading: string; text: string };

/** A word of a message, spelled as in the bot's knowledge. The rarer a word is in the knowledge, the higher is its weight. */
export type PromptTerm = { word: string; weight: number };

export type KnowledgeMatches = {
  /** Best first. */
  passages: readonly Passage[];
  terms: readonly PromptTerm[];
};

export type Exchange = { message: string; reply: string };

export type PromptParts = KnowledgeMatches & {
  system: string;
  /** The bot's text for a message that the model declines to answer. */
  fallback: string;
  /** The IANA name of the bot's time zone. */
  timeZone: string;
  /** Oldest first. */
  history: readonly Exchange[];
  message: string;
  tools: readonly Tool[];
  /** The moderation patterns that apply to replies. */
  replyPatterns: readonly Pattern[];
};

/** Encodes a parley.llm.v1.Prompt. Its last message is `message`. */
export function encodePrompt({
  system,
  fallback,
  timeZone,
  passages,
  terms,
  history,
  message,
  tools,
  replyPatterns,
}: PromptParts): Uint8Array {
  const messages = history.flatMap((turn) => [
    { role: Role.USER, content: turn.message },
    { role: Role.ASSISTANT, content: turn.reply },
  ]);
  messages.push({ role: Role.USER, content: message });
  return toBinary(
    PromptSchema,
    create(PromptSchema, {
      system,
      fallback,
      timeZone,
      passages: passages.map((passage) => ({ ...passage, id: BigInt(passage.id) })),
      messages,
      tools: [...tools],
      replyPatterns: replyPatterns.map(({ pattern, reason, fallback: own }) => ({
        pattern,
        verdict: { reason, fallback: own || fallback },
      })),
      terms: [...terms],
    }),
  );
}
