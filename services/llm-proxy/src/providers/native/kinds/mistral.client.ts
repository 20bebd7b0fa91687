import { type NativeApi, readKeyOptions } from "../native-api.ts";

export const mistralApi: NativeApi = {
  async load() {
    const { createMistral } = await import("@ai-sdk/mistral");
    return ({ settings, model, fetch }) => createMistral({ ...readKeyOptions(settings), fetch })(model);
  },
};
