import { type NativeApi, readKeyOptions } from "../native-api.ts";

export const googleApi: NativeApi = {
  async load() {
    const { createGoogle } = await import("@ai-sdk/google");
    return ({ settings, model, fetch }) => createGoogle({ ...readKeyOptions(settings), fetch })(model);
  },
};
