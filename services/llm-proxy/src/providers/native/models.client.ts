import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { NativeKind, NativeSettings } from "../../settings/index.ts";

type ModelOptions = {
  settings: NativeSettings;
  /** The model's name without its provider. */
  model: string;
  /** Sends the model's requests. */
  fetch: typeof fetch;
};

export type CreateModel = (options: ModelOptions) => LanguageModelV4 | Promise<LanguageModelV4>;

/** By kind. Each imports its package, so that a process without such a provider does not load the package. */
const LOADERS: Record<NativeKind, () => Promise<CreateModel>> = {
  async anthropic() {
    const { createAnthropic } = await import("@ai-sdk/anthropic");
    return ({ settings, model, fetch }) => createAnthropic({ ...readOptions(settings), fetch })(model);
  },
  async bedrock() {
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
  async google() {
    const { createGoogle } = await import("@ai-sdk/google");
    return ({ settings, model, fetch }) => createGoogle({ ...readOptions(settings), fetch })(model);
  },
  async mistral() {
    const { createMistral } = await import("@ai-sdk/mistral");
    return ({ settings, model, fetch }) => createMistral({ ...readOptions(settings), fetch })(model);
  },
  async vertex() {
    const [{ createGoogleVertex }, { GoogleAuth }] = await Promise.all([
      import("@ai-sdk/google-vertex"),
      import("google-auth-library"),
    ]);
    // Finds the credentials as all libraries of Google do. Keeps the token, and renews it. Without a project, it would ask Google's servers for one; the
    // URL has the project.
    const auth = new GoogleAuth({ projectId: "none", scopes: "https://www.googleapis.com/auth/cloud-platform" });
    return async ({ settings: { baseUrl, headers }, model, fetch }) => {
      const googleAuthOptions = { authClient: await auth.getClient() };
      return createGoogleVertex({ baseURL: baseUrl, headers: { ...headers }, fetch, googleAuthOptions })(model);
    };
  },
};

export function loadModels(kind: NativeKind): Promise<CreateModel> {
  return LOADERS[kind]();
}

/** Sets the URL and the key, because the package would read missing ones from the environment. parseSettings requires a key. */
function readOptions({ baseUrl, apiKey = "none", headers }: NativeSettings) {
  return { baseURL: baseUrl, apiKey, headers: { ...headers } };
}
