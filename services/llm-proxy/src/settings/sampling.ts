import type { ModelSettings } from "@parley/rpc/llm";
import { KINDS } from "./kinds.ts";
import { findOpenAiRefusal } from "./openai-models.ts";
import type { Kind, OpenAiSettings, RemoteSettings, Sampling } from "./settings.ts";

/** By setting: its name in LLM_CONFIG, in the CLI's options and in the errors. */
export const SETTING_NAMES = {
  temperature: "temperature",
  topP: "top_p",
  reasoningEffort: "reasoning_effort",
  maxOutputTokens: "max_output_tokens",
} as const satisfies Record<keyof Sampling, string>;

/** A setting that a model does not accept. `sentence` begins with the setting's name, or with the API's. */
export type SamplingProblem = { setting: keyof Sampling; sentence: string };

/** Returns a bot's settings of its model. Empty if the bot has none. */
export function readModelSettings(settings: ModelSettings | undefined): Sampling {
  if (settings === undefined) return {};
  const { temperature, topP, maxOutputTokens, reasoningEffort } = settings;
  return {
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    // The conversation service has checked the value.
    ...(reasoningEffort !== "" && { reasoningEffort: reasoningEffort as NonNullable<Sampling["reasoningEffort"]> }),
    ...(maxOutputTokens > 0 && { maxOutputTokens }),
  };
}

/** Each setting of the bot wins over the provider's. Only the provider's limit of tokens stays an upper limit, because it is the operator's. */
export function resolveSampling(provider: Sampling, bot: Sampling): Sampling {
  const limits = [provider.maxOutputTokens, bot.maxOutputTokens].filter((each) => each !== undefined);
  return { ...provider, ...bot, ...(limits.length > 0 && { maxOutputTokens: Math.min(...limits) }) };
}

/** Returns the problems that all models of an API have with settings. */
export function findKindProblems(kind: Kind, sampling: Sampling): SamplingProblem[] {
  const problems: SamplingProblem[] = [];
  const { maxTemperature = Infinity, acceptsOneOfSampling } = KINDS[kind];
  const { temperature, topP, reasoningEffort = "none" } = sampling;
  if (temperature !== undefined && temperature > maxTemperature)
    problems.push({
      setting: "temperature",
      sentence: `temperature must be at most ${maxTemperature} for the kind ${kind}`,
    });
  const chosen = [temperature !== undefined, topP !== undefined, reasoningEffort !== "none"].filter(Boolean);
  if (acceptsOneOfSampling && chosen.length > 1)
    problems.push({
      setting: temperature === undefined ? "topP" : "temperature",
      sentence: `the kind ${kind} accepts only one of temperature, top_p and reasoning_effort`,
    });
  return problems;
}

/** Returns the first problem that a model is known to have with settings. Models behind other OpenAI-compatible servers are not known. */
export function findKnownProblem(
  settings: RemoteSettings & { kind: Kind },
  model: string,
  sampling: Sampling,
): SamplingProblem | undefined {
  const [problem] = findKindProblems(settings.kind, sampling);
  return problem ?? (isOpenAi(settings) ? findOpenAiProblem(model, sampling) : undefined);
}

function isOpenAi({ kind, baseUrl }: Pick<OpenAiSettings, "baseUrl"> & { kind: string }): boolean {
  return kind === "openai" && URL.canParse(baseUrl) && new URL(baseUrl).hostname === "api.openai.com";
}

function findOpenAiProblem(model: string, sampling: Sampling): SamplingProblem | undefined {
  const refusal = findOpenAiRefusal(model, sampling);
  return refusal && { setting: refusal.setting, sentence: `${SETTING_NAMES[refusal.setting]} ${refusal.rule}` };
}
