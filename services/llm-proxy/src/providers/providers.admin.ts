import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { type Prompt, PromptSchema, type ProviderAdminService, Role } from "@parley/rpc/llm";
import type { GenerationRunner } from "../generation/index.ts";
import type { ProviderCatalog } from "./catalog.service.ts";

export type ProviderAdminDeps = {
  catalog: ProviderCatalog;
  generationRunner: Pick<GenerationRunner, "start">;
};

const CHECK_PROMPT: Prompt = create(PromptSchema, {
  system: "This is a test of your availability. Answer in one short sentence.",
  passages: [{ id: 1n, source: "provider check", text: "The colour of a clear sky by day is blue." }],
  messages: [{ role: Role.USER, content: "What is the colour of a clear sky by day?" }],
});

/** Lists the configured providers and checks whether they answer. Checks are not added to the call log. */
export function createProviderAdmin({
  catalog,
  generationRunner,
}: ProviderAdminDeps): ServiceImpl<typeof ProviderAdminService> {
  return {
    listProviders() {
      const { defaultModel } = catalog.settings;
      const providers = catalog.providers.map(({ settings }) => ({
        name: settings.name,
        baseUrl: settings.kind !== "builtin" ? settings.baseUrl : "",
        checkModel: settings.checkModel,
        isDefault: defaultModel.startsWith(`${settings.name}:`),
      }));
      return { providers: providers.sort((one, other) => (one.name < other.name ? -1 : 1)), defaultModel };
    },
    async checkProvider({ model }, { signal }) {
      const request = { workspaceId: "", turnId: "", model, prompt: CHECK_PROMPT };
      const result = await generationRunner.start(request, signal, () => undefined).result;
      return {
        result: result.outcome === "complete" ? "ok" : result.outcome,
        firstTokenMs: Math.round(result.firstTextMs ?? 0),
        totalMs: Math.round(result.totalMs),
        tokensOut: result.usage.tokensOut,
      };
    },
  };
}
