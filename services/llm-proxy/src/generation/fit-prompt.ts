import { create } from "@bufbuild/protobuf";
import { type Passage, type Prompt, type PromptMessage, PromptMessageSchema } from "@parley/rpc/llm";
import { estimateTokens } from "../tokens/index.ts";
import type { ToolRound } from "../tools/index.ts";
import type { AttemptRequest } from "./attempt-result.ts";
import { shortenMiddle } from "./shorten-middle.ts";

/** The estimate of a prompt's tokens can be a third too low. */
const ESTIMATE_MARGIN = 0.75;
/** The tokens that are kept for the completion, unless LLM_CONFIG limits it: at most a quarter of the window. */
const MAX_RESERVED_TOKENS = 4_096;
/** The largest share of the prompt for earlier messages, so that the cost of a long session stays bounded. */
const HISTORY_SHARE = 0.25;
/** Tokens of a message or passage besides its text: its role, or its tags and title. */
const TOKENS_PER_PART = 20;
/** Each result of a tool keeps so many tokens, so that the model can read an error even after huge arguments of its own. */
const MIN_RESULT_TOKENS = 100;
/** Tokens of the instructions that renderPrompt adds. */
const INSTRUCTION_TOKENS = 150;
/** Tokens of the instructions to cite. */
const CITATION_INSTRUCTION_TOKENS = 70;

export type Window = {
  /** The model's context window. */
  tokens: number;
  /** The limit of a completion; undefined without one. */
  outputTokens: number | undefined;
};

type Fitted = Pick<AttemptRequest, "prompt" | "toolRounds">;

/**
 * Fits a request into a model's context window. Shares what is left after the functions' schemas, in this order:
 * 1. the visitor's message, and the bot's instructions: each at most half of the rest;
 * 2. the results of tools: at most three quarters of the rest, in equal shares;
 * 3. the newest exchange: at most a quarter of the prompt and half of the rest, so that the model always sees it;
 * 4. the passages, best first;
 * 5. older exchanges, newest first, as far as all exchanges take at most a quarter of the prompt.
 * Shortens the texts of 1 to 3 in the middle, and leaves out passages and older exchanges as a whole.
 */
export function fitPrompt(
  { prompt, tools, toolRounds }: Fitted & Pick<AttemptRequest, "tools">,
  window: Window,
): Fitted {
  const reserved = Math.min(window.outputTokens ?? MAX_RESERVED_TOKENS, Math.floor(window.tokens / 4));
  const budget = Math.floor((window.tokens - reserved) * ESTIMATE_MARGIN);
  const functions = JSON.stringify(tools);
  if (surelyFits(prompt, toolRounds, functions, budget)) return { prompt, toolRounds };

  let rest = budget - countInstructions(prompt) - estimateTokens(functions);
  const take = (tokens: number) => {
    rest = Math.max(0, rest - tokens);
  };
  const last = prompt.messages.at(-1);
  const message = last && withContent(last, shortenMiddle(last.content, Math.floor(rest / 2)));
  take(message === undefined ? 0 : countMessage(message));
  const system = shortenMiddle(prompt.system, Math.floor(rest / 2));
  take(estimateTokens(system));
  const rounds = fitRounds(toolRounds, Math.floor((rest * 3) / 4));
  take(countRounds(rounds));
  const historyTokens = Math.floor(budget * HISTORY_SHARE);
  const [newest = [], ...older] = toExchanges(prompt.messages.slice(0, -1));
  const newestFitted = fitExchange(newest, Math.min(historyTokens, Math.floor(rest / 2)));
  take(countExchange(newestFitted));
  const passages = takeWithin(prompt.passages, countPassage, rest);
  take(sum(passages.map(countPassage)));
  const olderFitted = takeWithin(older, countExchange, Math.min(historyTokens - countExchange(newestFitted), rest));
  const messages = [...[newestFitted, ...olderFitted].toReversed().flat(), ...(message === undefined ? [] : [message])];
  return { prompt: { ...prompt, system, passages, messages }, toolRounds: rounds };
}

/** Whether the request fits without counting tokens: a text has at most one token for each byte. */
function surelyFits(prompt: Prompt, toolRounds: readonly ToolRound[], functions: string, budget: number): boolean {
  const { system, messages, passages } = prompt;
  const history = measureBytes(messages.slice(0, -1).map(({ content }) => content));
  if (history > budget * HISTORY_SHARE) return false;
  const knowledge = measureBytes(passages.map(({ source, heading, text }) => source + heading + text));
  const others = [system, messages.at(-1)?.content ?? "", functions, ...toolRounds.flatMap(textsOfRound)];
  return countInstructions(prompt) + history + knowledge + measureBytes(others) <= budget;
}

function countInstructions({ citesSources }: Prompt): number {
  return INSTRUCTION_TOKENS + (citesSources ? CITATION_INSTRUCTION_TOKENS : 0);
}

function measureBytes(texts: readonly string[]): number {
  return sum(texts.map((text) => Buffer.byteLength(text) + TOKENS_PER_PART));
}

/** Returns pairs of a visitor's message and its reply, newest first. */
function toExchanges(messages: readonly PromptMessage[]): PromptMessage[][] {
  const exchanges: PromptMessage[][] = [];
  for (let end = messages.length; end > 0; end -= 2) exchanges.push(messages.slice(Math.max(0, end - 2), end));
  return exchanges;
}

/** Shortens the longer text first. */
function fitExchange(exchange: readonly PromptMessage[], maxTokens: number): PromptMessage[] {
  const limits = shareOut(
    exchange.map(({ content }) => estimateTokens(content)),
    maxTokens - exchange.length * TOKENS_PER_PART,
  );
  return exchange.map((message, index) => withContent(message, shortenMiddle(message.content, limits[index] ?? 0)));
}

/** Shortens the results of tools, the longest first. The model's own messages stay, because a provider may refuse changed ones. */
function fitRounds(rounds: readonly ToolRound[], maxTokens: number): readonly ToolRound[] {
  const results = rounds.flatMap(resultsOfRound).map(estimateTokens);
  const own = countRounds(rounds) - sum(results);
  const limits = shareOut(results, Math.max(maxTokens - own, results.length * MIN_RESULT_TOKENS));
  return rounds.map((round) => ({
    ...round,
    calls: round.calls.map(({ request, result }) => ({ request, result: shortenMiddle(result, limits.shift() ?? 0) })),
  }));
}

/** Divides `total` so that small demands are met and the others get equal shares. */
function shareOut(demands: readonly number[], total: number): number[] {
  const limits = demands.map(() => 0);
  const order = demands.map((_, index) => index).toSorted((one, other) => (demands[one] ?? 0) - (demands[other] ?? 0));
  let rest = Math.max(0, total);
  for (const [position, index] of order.entries()) {
    const limit = Math.min(demands[index] ?? 0, Math.floor(rest / (order.length - position)));
    limits[index] = limit;
    rest -= limit;
  }
  return limits;
}

/** Returns the longest prefix of `items` with at most `maxTokens` tokens. */
function takeWithin<T>(items: readonly T[], count: (item: T) => number, maxTokens: number): T[] {
  let used = 0;
  const end = items.findIndex((item) => {
    used += count(item);
    return used > maxTokens;
  });
  return items.slice(0, end === -1 ? items.length : end);
}

/** The provider's own message has the text and the calls, and is sent instead of them. */
function textsOfRound(round: ToolRound): string[] {
  const { text, assistantMessage, calls } = round;
  const own =
    assistantMessage === undefined
      ? [text, ...calls.flatMap(({ request }) => [request.name, request.arguments])]
      : [JSON.stringify(assistantMessage)];
  return [...own, ...resultsOfRound(round)];
}

function resultsOfRound({ calls }: ToolRound): string[] {
  return calls.map(({ result }) => result);
}

function countRounds(rounds: readonly ToolRound[]): number {
  return sum(rounds.flatMap(textsOfRound).map((text) => estimateTokens(text)));
}

function countPassage({ source, heading, text }: Passage): number {
  return estimateTokens(`${source} ${heading} ${text}`) + TOKENS_PER_PART;
}

function countExchange(exchange: readonly PromptMessage[]): number {
  return sum(exchange.map(countMessage));
}

function countMessage({ content }: PromptMessage): number {
  return estimateTokens(content) + TOKENS_PER_PART;
}

function withContent({ role }: PromptMessage, content: string): PromptMessage {
  return create(PromptMessageSchema, { role, content });
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
