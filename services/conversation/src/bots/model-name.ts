import { BotChangesSchema } from "@parley/rpc/conversation";
import { limitsOf } from "@parley/rpc/rules";

const { max: MAX_CHARACTERS } = limitsOf(BotChangesSchema.field.model);
const MODEL_NAME = /^[a-z0-9][a-z0-9_-]{0,31}:[!-~]+$/;

/**
 * Returns whether `value` has the form `<provider>:<model_name>`. The llm-proxy refuses any other form
 * (services/llm-proxy/src/settings/model-name.ts).
 */
export function isModelName(value: string): boolean {
  return value.length <= MAX_CHARACTERS && MODEL_NAME.test(value);
}
