import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { type Prompt, PromptSchema, type ProviderAdminService, Role } from "@parley/rpc/llm";
import { invalid } from "@parley/service-kit";
import { beginCall, type CountTokens, meter, type Responder } from "../generation/index.ts";
import type { Catalog } from "./catalog.service.ts";

export type ProviderAdminDeps = {
  catalog: Catalog;
  responder: Responder;
  countTokens: CountTokens;
  /** Milliseconds of a clock that never goes back. */
  now: () => number;
};

const QUESTION: Prompt = create(PromptSchema, {
  system: "You are being asked whether you are there. Answer in one short sentence.",
  passages: [{ id: 1n, source: "provider check", text: "The colour of a clear sky by day is blue." }],
  messages: [{ role: Role.USER, content: "What is the colour of a clear sky by day?" }],
});

/** The admin service of providers: what is configured, and whether it answers. Checks leave no row in the ledger. */
export function providerAdmin({
  catalog,
  responder,
  countTokens,
  now,
}: ProviderAdminDeps): ServiceImpl<typeof ProviderAdminService> {
  return {
    listProviders() {
      const { defaultModel } = catalog.settings;
      const providers = catalog.providers.map(({ settings }) => ({
        name: settings.name,
        baseUrl: settings.kind === "openai" ? settings.baseUrl : "",
        checkModel: settings.checkModel,
        isDefault: defaultModel.startsWith(`${settings.name}:`),
      }));
      return { providers: providers.sort((one, other) => (one.name < other.name ? -1 : 1)), defaultModel };
    },
    async checkProvider({ model }, { signal }) {
      if (model === "") throw invalid("model is missing");
      const record = beginCall({ workspaceId: "", turnId: "", asked: model, startedAtMs: now() });
      await responder.respond(record, QUESTION, signal, () => undefined).done;
      const { startedAtMs, firstTokenAtMs = startedAtMs, endedAtMs = startedAtMs, outcome = "cancelled" } = record;
      return {
        result: outcome === "complete" ? "ok" : outcome,
        firstTokenMs: Math.round(firstTokenAtMs - startedAtMs),
        totalMs: Math.round(endedAtMs - startedAtMs),
        tokensOut: (await meter(record, QUESTION, countTokens)).tokensOut,
      };
    },
  };
}
