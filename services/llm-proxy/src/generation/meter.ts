import { renderPrompt } from "../providers/index.ts";
import { computeCost, findPrice, parseModelName } from "../settings/index.ts";
import { estimateTokens } from "../tokens/index.ts";
import type { AttemptResult } from "./attempt-result.ts";

/** The tokens of a generation; `cost` is null when a model has no price. */
export type GenerationUsage = { tokensIn: number; tokensOut: number; isEstimated: boolean; cost: number | null };

/** Counts the tokens of each text with the vocabulary of the model's family; undefined when the vocabulary is not published. */
export type CountTokens = (model: string, texts: readonly string[]) => Promise<number[] | undefined>;

/** Tokens that a chat format adds to each message, for families with a published vocabulary. */
const TOKENS_PER_MESSAGE = 4;

/**
 * Adds up the usage of a generation: for each round, the usage of the attempt that was sent last. Uses the provider's own counts if it
 * sent any. Otherwise counts tokens with the vocabulary of the model's family. Without a vocabulary or `countTokens`, estimates them.
 */
export async function meterGeneration(
  attempts: readonly AttemptResult[],
  countTokens: CountTokens | undefined,
): Promise<GenerationUsage> {
  const usages = await Promise.all(
    findLastAttemptOfRounds(attempts).map((attempt) => meterAttempt(attempt, countTokens)),
  );
  const [first = { tokensIn: 0, tokensOut: 0, isEstimated: false, cost: null }, ...others] = usages;
  return others.reduce(
    (sum, each) => ({
      tokensIn: sum.tokensIn + each.tokensIn,
      tokensOut: sum.tokensOut + each.tokensOut,
      isEstimated: sum.isEstimated || each.isEstimated,
      cost: sum.cost === null || each.cost === null ? null : sum.cost + each.cost,
    }),
    first,
  );
}

/** Returns the last sent attempt of each round; if none of its attempts was sent, its last attempt. */
function findLastAttemptOfRounds(attempts: readonly AttemptResult[]): AttemptResult[] {
  const byRound = new Map<number, AttemptResult>();
  for (const attempt of attempts) {
    const round = attempt.request.toolRounds.length;
    if (attempt.isSent || !byRound.get(round)?.isSent) byRound.set(round, attempt);
  }
  return [...byRound.values()];
}

async function meterAttempt(attempt: AttemptResult, countTokens: CountTokens | undefined): Promise<GenerationUsage> {
  const { request, completion } = attempt;
  const { guarded, name } = request.candidate;
  const { usage, isFinished, text } = completion;
  const hasOutput = isFinished || text !== "";
  const counts = usage ?? (hasOutput ? await countLocally(attempt, countTokens) : { tokensIn: 0, tokensOut: 0 });
  return {
    ...counts,
    isEstimated: usage === undefined && hasOutput,
    cost: computeCost(findPrice(guarded.settings.prices, name), counts.tokensIn, counts.tokensOut),
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
  // A tokenizer that fails must not lose the usage.
  const [tokensIn, tokensOut] = (await countTokens?.(name, [input, output]).catch(() => undefined)) ?? [];
  if (tokensIn === undefined || tokensOut === undefined)
    return { tokensIn: estimateTokens(input), tokensOut: estimateTokens(output) };
  return { tokensIn: tokensIn + messages.length * TOKENS_PER_MESSAGE, tokensOut };
}
