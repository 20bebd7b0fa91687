import { detectSmallTalk } from "@parley/bot-rules/small-talk";
import type { Passage } from "@parley/rpc/llm";
import { detectReplyLanguage } from "./language.ts";
import { SMALL_TALK_TEXTS, type SmallTalkTexts } from "./small-talk-texts.ts";
import { splitWords } from "./terms.ts";

const MAX_TOPICS = 3;
const MAX_TOPIC_CHARACTERS = 40;

/** Returns a reply in the message's language if the message only greets, thanks and the like. Otherwise returns undefined. */
export function replyToSmallTalk(message: string): string | undefined {
  const found = detectSmallTalk(message);
  return found && textsOf(found.language)[found.kind];
}

/** Returns the reply to a message that the passages do not answer, in the message's language, with headings of the passages as examples. */
export function decline(message: string, passages: readonly Passage[]): string {
  const passageWords = splitWords(passages.map(({ text }) => text).join("\n"));
  const language = detectReplyLanguage(message, splitWords(message), passageWords);
  const texts = textsOf(language);
  const topics = new Set(passages.map(({ heading }) => heading.split(" > ").at(-1) ?? "").filter(isTopic));
  if (topics.size === 0) return texts.decline;
  return `${texts.decline} ${texts.topics([...topics].slice(0, MAX_TOPICS).join(", "))}`;
}

function isTopic(heading: string): boolean {
  return heading !== "" && heading.length <= MAX_TOPIC_CHARACTERS && !/[?？؟`{}()]/.test(heading);
}

/** Whether `decline` returned this reply. */
export function isDecline(reply: string): boolean {
  return Object.values(SMALL_TALK_TEXTS).some(({ decline: text }) => reply.startsWith(text));
}

function textsOf(language: string): SmallTalkTexts {
  return SMALL_TALK_TEXTS[language] ?? SMALL_TALK_TEXTS.en;
}
