import type { MessageInitShape } from "@bufbuild/protobuf";
import type { CheckModelSettingsRequest, CheckModelSettingsResponseSchema } from "@parley/rpc/llm";
import { findKnownProblem, readModelSettings, resolveSampling, type Sampling } from "../settings/index.ts";
import type { Candidate, ProviderCatalog } from "./catalog.service.ts";

/** Returns why a model, or a model of a route, does not accept a bot's settings. The built-in model of a route has no settings. */
export async function handleCheckModelSettings(
  catalog: Pick<ProviderCatalog, "findCandidates">,
  { model, settings }: CheckModelSettingsRequest,
): Promise<MessageInitShape<typeof CheckModelSettingsResponseSchema>> {
  const asked = readModelSettings(settings);
  const candidates = catalog.findCandidates(model) ?? [];
  if (Object.keys(asked).length === 0) return {};
  if (candidates.length > 0 && candidates.every(({ guardedProvider }) => guardedProvider.settings.kind === "builtin"))
    return { problem: `${candidates[0]?.model} has no settings` };
  for (const candidate of candidates) {
    const sentence = await findProblem(candidate, asked);
    if (sentence !== undefined) return { problem: `${candidate.model}: ${sentence}` };
  }
  return {};
}

async function findProblem({ guardedProvider, name }: Candidate, asked: Sampling): Promise<string | undefined> {
  const { settings, provider } = guardedProvider;
  if (settings.kind === "builtin") return undefined;
  const { maxOutputTokens: limit = Infinity } = settings.sampling;
  if ((asked.maxOutputTokens ?? 0) > limit) return `max_output_tokens must be at most ${limit}, the operator's limit`;
  const sampling = resolveSampling(settings.sampling, asked);
  const problem =
    findKnownProblem(settings, name, sampling) ?? (await provider.findSettingProblem?.(name, { sampling, asked }));
  return problem?.sentence;
}
