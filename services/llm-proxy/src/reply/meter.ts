import type { Prompt } from "@parley/rpc/llm";
import { costOf } from "../domain/cost.ts";
import { estimateTokens } from "../domain/estimate-tokens.ts";
import { renderPrompt } from "../domain/render-prompt.ts";
import type { CallRecord } from "./call-record.ts";

/** What was used of a model; `cost` is null when it has no price. */
export type Metering = { tokensIn: number; tokensOut: number; estimated: boolean; cost: number | null };

type Metered = Pick<CallRecord, "usage" | "finished" | "text" | "requests" | "rounds" | "price">;

/** The tokens of the question under way or last answered: the provider's own count, else an estimate if anything came, else none. */
export function meterQuestion(record: Metered, prompt: Prompt): Metering {
  const tokens = count(record, prompt);
  return { ...tokens, cost: costOf(record.price, tokens.tokensIn, tokens.tokensOut) };
}

/** The tokens of a whole reply, every question of it added up. */
export function meter(record: Metered & Pick<CallRecord, "used">, prompt: Prompt): Metering {
  return [...record.used, meterQuestion(record, prompt)].reduce((sum, each) => ({
    tokensIn: sum.tokensIn + each.tokensIn,
    tokensOut: sum.tokensOut + each.tokensOut,
    estimated: sum.estimated || each.estimated,
    cost: sum.cost === null || each.cost === null ? null : sum.cost + each.cost,
  }));
}

function count({ usage, finished, text, requests, rounds }: Metered, prompt: Prompt): Omit<Metering, "cost"> {
  if (usage) return { ...usage, estimated: false };
  if (!finished && text === "") return { tokensIn: 0, tokensOut: 0, estimated: false };
  const calls = rounds.flatMap((round) => [
    round.text,
    ...round.calls.flatMap(({ request, result }) => [request.arguments, result]),
  ]);
  const asked = [...renderPrompt(prompt).map((message) => message.content), ...calls];
  const answered = [text, ...requests.flatMap((request) => [request.name, request.arguments])];
  return {
    tokensIn: estimateTokens(asked.join("\n")),
    tokensOut: estimateTokens(answered.join("\n").trimEnd()),
    estimated: true,
  };
}
