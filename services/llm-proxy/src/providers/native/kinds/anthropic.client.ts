import { type NativeApi, readKeyOptions } from "../native-api.ts";

export const anthropicApi: NativeApi = {
  async load() {
    const { createAnthropic } = await import("@ai-sdk/anthropic");
    return ({ settings, model, fetch }) => createAnthropic({ ...readKeyOptions(settings), fetch })(model);
  },
  findCacheMark: () => ({ anthropic: { cacheControl: { type: "ephemeral" } } }),
};
