import type { Passage, QueryTerm } from "@parley/rpc/llm";
import { replyToGreeting } from "./greeting.ts";
import { bestQuotes, type Quote } from "./quotes.ts";

const DO_NOT_KNOW =
  "Sorry, I don't know. I can only answer from the documents I was given, and I found nothing about that in them.";
const MAX_QUOTE_CHARACTERS = 700;

/** Answers a message with sentences of the passages and their sources, or with DO_NOT_KNOW if the passages contain no answer. */
export function extract(message: string, passages: readonly Passage[], terms: readonly QueryTerm[] = []): string {
  const greeting = replyToGreeting(message);
  if (greeting !== undefined) return greeting;
  const quotes = bestQuotes(message, passages, terms);
  return quotes.length === 0 ? DO_NOT_KNOW : quotes.map(render).join("\n\n");
}

function render({ passage, text }: Quote): string {
  const source = [passage.source, ...passage.heading.split(" > ")].filter((part) => part !== "").join(" › ");
  return `From ${source}: “${shorten(text)}”`;
}

function shorten(text: string): string {
  if (text.length <= MAX_QUOTE_CHARACTERS) return text;
  return `${text.slice(0, MAX_QUOTE_CHARACTERS).replace(/\s+\S*$/, "")} …`;
}
