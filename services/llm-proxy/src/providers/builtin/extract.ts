import type { Passage, QueryTerm } from "@parley/rpc/llm";
import { replyToGreetingOrThanks } from "./greeting.ts";
import { findQuotes, type Quote } from "./quotes.ts";

const NO_ANSWER =
  "Sorry, I don't know. I can only answer from the documents I was given, and I found nothing about that in them.";
/** A longer quote is cut. Only a quote of a single sentence can be longer: quotes.ts limits quotes of several sentences. */
const MAX_SHOWN_CHARACTERS = 700;

/** Replies to a greeting or thanks. Answers any other message with quotes of the passages, or with NO_ANSWER if no passage contains an answer. */
export function extractAnswer(message: string, passages: readonly Passage[], terms: readonly QueryTerm[] = []): string {
  const reply = replyToGreetingOrThanks(message);
  if (reply !== undefined) return reply;
  const quotes = findQuotes(message, passages, terms);
  return quotes.length === 0 ? NO_ANSWER : quotes.map(renderQuote).join("\n\n");
}

function renderQuote({ passage, text }: Quote): string {
  const source = [passage.source, ...passage.heading.split(" > ")].filter((part) => part !== "").join(" › ");
  return `From ${source}: “${shorten(text)}”`;
}

function shorten(text: string): string {
  if (text.length <= MAX_SHOWN_CHARACTERS) return text;
  // Removes the last word, because it may be incomplete. If that word has more than 50 characters, as in a language without spaces, removes
  // only a lone surrogate at the end.
  return `${text.slice(0, MAX_SHOWN_CHARACTERS).replace(/\s+\S{0,50}$|[\ud800-\udbff]$/, "")} …`;
}
