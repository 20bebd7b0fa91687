import type { MessageInitShape } from "@bufbuild/protobuf";
import { type CallContext, RpcError, status } from "@parley/rpc";
import type { EmbedRequest, EmbedResponseSchema } from "@parley/rpc/llm";
import { invalidArgument, isWorkspaceId, ServiceError } from "@parley/service-kit";
import { ProviderFailure } from "../providers/index.ts";
import type { Embedder } from "./embedder.ts";

const MAX_TEXT_CHARACTERS = 8_000;

/** Embeds a batch of texts. Without texts, returns only the id of the configured model, which is empty if none is configured. */
export async function handleEmbed(
  embedder: Embedder,
  { workspaceId, texts }: EmbedRequest,
  { signal }: Pick<CallContext, "signal">,
): Promise<MessageInitShape<typeof EmbedResponseSchema>> {
  if (texts.length > 0 && !isWorkspaceId(workspaceId)) throw invalidArgument("workspace_id is not a workspace id");
  if (texts.some((text) => text.trim() === "" || text.length > MAX_TEXT_CHARACTERS))
    throw invalidArgument(`each text must have 1 to ${MAX_TEXT_CHARACTERS} characters, and not only white space`);
  const { model } = embedder;
  if (texts.length === 0) return { model: model?.id ?? "" };
  if (model === undefined)
    throw new ServiceError("failed_precondition", "embeddings_not_configured", "LLM_CONFIG names no embeddings model");
  try {
    const { vectors, tokens } = await embedder.embed(model, workspaceId, texts, signal);
    const embeddings = vectors.map((values) => ({ values }));
    return { model: model.id, embeddings, dimensions: vectors[0]?.length ?? 0, tokens };
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error;
    // Not UNAVAILABLE, which the channel would retry: the embedder has retried already.
    throw new RpcError(status.ABORTED, error.code, `the embedding provider failed: ${error.reason}`, { cause: error });
  }
}
