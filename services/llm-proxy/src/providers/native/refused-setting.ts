import type { SharedV4Warning } from "@ai-sdk/provider";
import { type Sampling, type SamplingProblem, SETTING_NAMES } from "../../settings/index.ts";

/** By the name of the setting in the warnings of the AI SDK. */
const SETTINGS: Readonly<Record<string, keyof Sampling>> = {
  temperature: "temperature",
  topP: "topP",
  reasoning: "reasoningEffort",
  maxOutputTokens: "maxOutputTokens",
};

/**
 * Returns the first setting that the AI SDK leaves out of a request because the model does not accept it. Of the settings in `asked`, also one that it
 * sends with another value. The SDK lowers a limit of tokens to the model's own, which refuses no request.
 */
export function findRefusedSetting(
  warnings: readonly SharedV4Warning[],
  asked: Sampling = {},
): SamplingProblem | undefined {
  for (const warning of warnings) {
    if (warning.type !== "unsupported" && warning.type !== "compatibility") continue;
    const { [warning.feature]: setting } = SETTINGS;
    if (setting === undefined) continue;
    const isLeftOut = warning.type === "unsupported" && setting !== "maxOutputTokens";
    if (!isLeftOut && asked[setting] === undefined) continue;
    const name = SETTING_NAMES[setting];
    return {
      setting,
      sentence: `${name} is not accepted as it is: ${warning.details ?? "the model does not support it"}`,
    };
  }
  return undefined;
}
