import { type Candidate, renderPrompt, type Usage } from "../providers/index.ts";
import { computeCost, findPrice, parseModelName } from "../settings/index.ts";
import { estimateTokens } from "../tokens/index.ts";
import type { AttemptResult } from "./attempt-result.ts";

/**
 * The tokens and the cost of a generation or of one of its rounds. A round is the attempts until the model calls tools or replies.
 * `isEstimated`: the provider sent no token counts for a completion, so Parley counted or estimated them. `cost` is null if a model has no
 * price.
 */
export type GenerationUsage = Required<Usage> & { isEstimated: boolean; cost: number | null };

/** The usage of one round. */
export type RoundUsage = GenerationUsage & { candidate: Candidate };

/**
 * Counts the tokens of each text with the tokenizer vocabulary of the model's family. Returns undefined if that vocabulary is not published
 * or the count takes too long.
 */
export type CountTokens = (model: string, texts: readonly string[]) => Promise<number[] | undefined>;

/** Tokens that a chat format adds to each message. The counts of `countTokens` do not include them. */
const TOKENS_PER_MESSAGE = 4;

/**
 * Returns the usage of each round of a generation: the usage of the round's last sent attempt. Uses the provider's counts, else
 * `countTokens`, else an estimate. If the provider sent no counts and the attempt failed before its first text, the usage is 0 tokens.
 */
export function meterRounds(
  attempts: readonly AttemptResult[],
  countTokens: CountTokens | undefined,
): Promise<RoundUsage[]> {
  return Promise.all(findLastAttemptOfRounds(attempts).map((attempt) => meterAttempt(attempt, countTokens)));
}

/** Adds up usages. The cost is null if one of the usages has no cost, or if there are no usages. */
export function sumUsages(usages: readonly GenerationUsage[]): GenerationUsage {
  const costs = usages.flatMap(({ cost }) => cost ?? []);
  return {
    tokensIn: usages.reduce((sum, { tokensIn }) => sum + tokensIn, 0),
    tokensOut: usages.reduce((sum, { tokensOut }) => sum + tokensOut, 0),
    tokensCached: usages.reduce((sum, { tokensCached }) => sum + tokensCached, 0),
    tokensCacheWritten: usages.reduce((sum, { tokensCacheWritten }) => sum + tokensCacheWritten, 0),
    isEstimated: usages.some(({ isEstimated }) => isEstimated),
    cost: costs.length === 0 || costs.length < usages.length ? null : costs.reduce((sum, cost) => sum + cost, 0),
  };
}

/** Returns the last sent attempt of each round, or the round's last attempt if none was sent. */
function findLastAttemptOfRounds(attempts: readonly AttemptResult[]): AttemptResult[] {
  const byRound = new Map<number, AttemptResult>();
  for (const attempt of attempts) {
    const round = attempt.request.toolRounds.length;
    if (attempt.isSent || !byRound.get(round)?.isSent) byRound.set(round, attempt);
  }
  return [...byRound.values()];
}

async function meterAttempt(attempt: AttemptResult, countTokens: CountTokens | undefined): Promise<RoundUsage> {
  const { request, completion } = attempt;
  const { candidate } = request;
  const { guardedProvider, name } = candidate;
  const { usage, isFinished, text } = completion;
  const hasOutput = isFinished || text !== "";
  const counts = usage ?? (hasOutput ? await countLocally(attempt, countTokens) : { tokensIn: 0, tokensOut: 0 });
  return {
    candidate,
    tokensCached: 0,
    tokensCacheWritten: 0,
    ...counts,
    isEstimated: usage === undefined && hasOutput,
    cost: computeCost(findPrice(guardedProvider.settings.prices, name), counts),
  };
}

async function countLocally({ request, completion }: AttemptResult, countTokens: CountTokens | undefined) {
  const { candidate, prompt, toolRounds } = request;
  const messages = [
    ...renderPrompt(prompt).map(({ content }) => content),
    ...toolRounds.flatMap(({ text, calls }) => [
      text,
      ...calls.flatMap(({ request, result }) => [request.arguments, result]),
    ]),
  ];
  const input = messages.join("\n");
  const toolCalls = completion.toolRequests.flatMap((call) => [call.name, call.arguments]);
  const output = [completion.text, ...toolCalls].join("\n").trimEnd();
  const { name = "" } = parseModelName(candidate.model) ?? {};
  const [tokensIn, tokensOut] = (await countTokens?.(name, [input, output]).catch(() => undefined)) ?? [];
  if (tokensIn === undefined || tokensOut === undefined)
    return { tokensIn: estimateTokens(input), tokensOut: estimateTokens(output) };
  return { tokensIn: tokensIn + messages.length * TOKENS_PER_MESSAGE, tokensOut };
}
