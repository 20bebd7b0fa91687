import { createFrameCheck } from "../body-check.ts";
import type { NativeApi } from "../native-api.ts";

/** The models of Bedrock that accept marks: Claude since 3.5 Haiku and 3.7 Sonnet, and Nova. Bedrock refuses marks of other models. */
const CACHING_MODELS = /\banthropic\.claude-(?!instant|v\d|3-(?:haiku|sonnet|opus)|3-5-sonnet)|\bamazon\.nova-/;

export const bedrockApi: NativeApi = {
  async load() {
    const [{ createAmazonBedrock }, { defaultProvider }] = await Promise.all([
      import("@ai-sdk/amazon-bedrock"),
      import("@aws-sdk/credential-provider-node"),
    ]);
    // By region. Finds the credentials as all libraries of AWS do. Keeps them, and renews them.
    const providers = new Map<string, ReturnType<typeof defaultProvider>>();
    return ({ settings: { baseUrl, headers, region, apiKey = "" }, model, fetch }) => {
      const credentialProvider = providers.get(region) ?? defaultProvider({ clientConfig: { region } });
      providers.set(region, credentialProvider);
      const options = { baseURL: baseUrl, headers: { ...headers }, region, apiKey, fetch };
      return createAmazonBedrock({ ...options, credentialProvider })(model);
    };
  },
  createBodyCheck: createFrameCheck,
  findCacheMark: (model) => (CACHING_MODELS.test(model) ? { bedrock: { cachePoint: { type: "default" } } } : undefined),
  // Bedrock accepts calls only in requests with tools, so with the choice "none" the package removes the tools, the calls and their results.
  losesCallsWithoutTools: true,
};
