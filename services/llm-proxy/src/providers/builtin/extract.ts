import { expandShortForms, findAskedDays, findContinuedQuestion } from "@parley/bot-rules/questions";
import { detectSmallTalk } from "@parley/bot-rules/small-talk";
import type { Passage, Prompt } from "@parley/rpc/llm";
import { removeCitationMarkers } from "../citation-markers.ts";
import type { Quote } from "./quote.ts";
import { findQuotes } from "./quotes.ts";
import { findSameQuestion } from "./same-question.ts";
import { decline, replyToSmallTalk } from "./small-talk.ts";

/** The longest answer, with its source. */
const MAX_CHARACTERS = 400;
const MAX_SOURCE_CHARACTERS = 120;

export type Reply = { text: string; isDeclined: boolean };

/** `earlier`: the visitor's messages before, newest first. */
export type Circumstances = { earlier: readonly string[]; now: Date };

/** Replies to small talk. Answers any other message with at most two quotes of the passages, or declines if no passage contains an answer. */
export function extractAnswer(
  message: string,
  { passages, terms, timeZone, citesSources }: Pick<Prompt, "passages" | "terms" | "timeZone" | "citesSources">,
  { earlier, now }: Circumstances,
): Reply {
  const smallTalk = replyToSmallTalk(message);
  // Documents may say who answers, but not how to reply to "How are you?".
  const isForDocuments =
    detectSmallTalk(message)?.kind === "human" && findSameQuestion(message, passages) !== undefined;
  if (smallTalk !== undefined && !isForDocuments) return { text: smallTalk, isDeclined: false };
  const asked = expandShortForms(message);
  const continued = findContinuedQuestion(asked, earlier.map(expandShortForms));
  const days = findAskedDays(asked, timeZone || "UTC", now);
  const [best, second] = findQuotes({ message: asked, continued, days }, passages, terms);
  if (best === undefined) return { text: decline(message, passages), isDeclined: true };
  const render = citesSources ? (quote: Quote) => renderCitedQuote(quote, passages) : renderQuote;
  return { text: renderAnswer(best, second, render), isDeclined: false };
}

type RenderQuote = (quote: Quote) => string;

function renderAnswer(best: Quote, second: Quote | undefined, render: RenderQuote): string {
  const answer = render(best);
  const both = second === undefined ? answer : joinQuotes(best, second, render);
  return both.length <= MAX_CHARACTERS ? both : answer;
}

function joinQuotes(best: Quote, second: Quote, render: RenderQuote): string {
  if (second.passage !== best.passage || best.code + second.code !== "") return [best, second].map(render).join("\n\n");
  const inOrder = best.position < second.position ? [best, second] : [second, best];
  return render({ ...best, text: inOrder.map(({ text }) => text).join(" ") });
}

/** Ends the text with the number of its passage, as a language model does. Brackets with numbers in the text itself would be citations too. */
function renderCitedQuote({ passage, text, code }: Quote, passages: readonly Passage[]): string {
  const citation = ` [${passages.indexOf(passage) + 1}]`;
  const own = removeCitationMarkers(text);
  const block = toCodeBlock(code);
  const fits = own.length + citation.length + block.length <= MAX_CHARACTERS;
  return fits ? own + citation + block : shorten(own, MAX_CHARACTERS - citation.length) + citation;
}

/** Names the document below the text. */
function renderQuote({ passage, text, code }: Quote): string {
  const innermost = passage.heading.split(" > ").at(-1) ?? "";
  // A document that the owner wrote in the console has its first heading as its name.
  const isNamedOnce = innermost === "" || innermost === passage.source;
  const source = shorten(isNamedOnce ? passage.source : `${passage.source} › ${innermost}`, MAX_SOURCE_CHARACTERS);
  const end = `\n\n— ${source}`;
  const block = toCodeBlock(code);
  const fits = text.length + block.length + end.length <= MAX_CHARACTERS;
  return fits ? text + block + end : shorten(text, MAX_CHARACTERS - end.length) + end;
}

function toCodeBlock(code: string): string {
  return code === "" ? "" : `\n\n\`\`\`\n${code}\n\`\`\``;
}

function shorten(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text;
  // Removes the last word, because it may be incomplete. If that word has more than 50 characters, as in a language without spaces, removes
  // only a lone surrogate at the end.
  return `${text.slice(0, maxCharacters - 2).replace(/\s+\S{0,50}$|[\ud800-\udbff]$/, "")} …`;
}
