import { create, toBinary } from "@bufbuild/protobuf";
import type { Pattern } from "@parley/bot-rules/moderation";
import { PromptSchema, Role, type Tool } from "@parley/rpc/llm";

/** A piece of knowledge, as found for a message. */
export type Passage = { id: number; source: string; heading: string; text: string };

/** A word of a message, spelt as the knowledge spells it, and how telling it is. */
export type PromptTerm = { word: string; weight: number };

/** What a bot's knowledge has to say to a message. */
export type Found = {
  /** Best first. */
  passages: readonly Passage[];
  terms: readonly PromptTerm[];
};

/** A finished turn: what the visitor wrote and what was answered. */
export type Exchange = { question: string; answer: string };

export type PromptParts = Found & {
  system: string;
  /** Oldest first. */
  history: readonly Exchange[];
  message: string;
  tools: readonly Tool[];
  /** What the reply must not say. */
  replyPatterns: readonly Pattern[];
};

/** A parley.llm.v1.Prompt, encoded; its messages end in the visitor's. */
export function encodePrompt({
  system,
  passages,
  terms,
  history,
  message,
  tools,
  replyPatterns,
}: PromptParts): Uint8Array {
  const messages = history.flatMap(({ question, answer }) => [
    { role: Role.USER, content: question },
    { role: Role.ASSISTANT, content: answer },
  ]);
  messages.push({ role: Role.USER, content: message });
  return toBinary(
    PromptSchema,
    create(PromptSchema, {
      system,
      passages: passages.map((passage) => ({ ...passage, id: BigInt(passage.id) })),
      messages,
      tools: [...tools],
      replyPatterns: replyPatterns.map(({ pattern, reason, fallback }) => ({ pattern, verdict: { reason, fallback } })),
      terms: [...terms],
    }),
  );
}
