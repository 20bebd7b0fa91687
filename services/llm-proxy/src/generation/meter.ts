import type { Prompt } from "@parley/rpc/llm";
import { renderPrompt } from "../providers/index.ts";
import { costOf, parseModelName } from "../settings/index.ts";
import { estimateTokens } from "../tokens/index.ts";
import type { CallRecord, Metering } from "./call-record.ts";

/** Tokens of each text by the vocabulary of a model's family; undefined when there is none to count by. */
export type CountTokens = (model: string, texts: readonly string[]) => Promise<number[] | undefined>;

type Metered = Pick<CallRecord, "usage" | "finished" | "text" | "requests" | "rounds" | "price" | "model">;

/** What a chat format adds to each message; for families whose vocabulary is known. */
const TOKENS_A_MESSAGE = 4;

/**
 * The tokens of the question under way or last answered: the provider's own count; else ours, marked as estimated, by the vocabulary of
 * the model's family where it is published and by weighing the script where not; none when nothing came.
 */
export async function meterQuestion(record: Metered, prompt: Prompt, countTokens: CountTokens): Promise<Metering> {
  // What the record says now: a caller who leaves may change it while it is counted.
  const { price, usage, finished, text } = record;
  const tokens = usage
    ? { ...usage, estimated: false }
    : finished || text !== ""
      ? await countOurselves(record, prompt, countTokens)
      : { tokensIn: 0, tokensOut: 0, estimated: false };
  return { ...tokens, cost: costOf(price, tokens.tokensIn, tokens.tokensOut) };
}

/** The tokens of a whole reply, every question of it added up. */
export async function meter(
  record: Metered & Pick<CallRecord, "used">,
  prompt: Prompt,
  countTokens: CountTokens,
): Promise<Metering> {
  const questions = await Promise.all([...record.used, meterQuestion(record, prompt, countTokens)]);
  return questions.reduce((sum, each) => ({
    tokensIn: sum.tokensIn + each.tokensIn,
    tokensOut: sum.tokensOut + each.tokensOut,
    estimated: sum.estimated || each.estimated,
    cost: sum.cost === null || each.cost === null ? null : sum.cost + each.cost,
  }));
}

async function countOurselves({ model, text, requests, rounds }: Metered, prompt: Prompt, countTokens: CountTokens) {
  const calls = rounds.flatMap((round) => [
    round.text,
    ...round.calls.flatMap(({ request, result }) => [request.arguments, result]),
  ]);
  const messages = [...renderPrompt(prompt).map((message) => message.content), ...calls];
  const asked = messages.join("\n");
  const answered = [text, ...requests.flatMap((request) => [request.name, request.arguments])].join("\n").trimEnd();
  const [tokensIn, tokensOut] = (await countTokens(nameOf(model), [asked, answered])) ?? [];
  if (tokensIn === undefined || tokensOut === undefined)
    return { tokensIn: estimateTokens(asked), tokensOut: estimateTokens(answered), estimated: true };
  return { tokensIn: tokensIn + messages.length * TOKENS_A_MESSAGE, tokensOut, estimated: true };
}

function nameOf(model: string): string {
  return parseModelName(model)?.name ?? "";
}
