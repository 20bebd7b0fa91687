import { randomUUID } from "node:crypto";
import { fromBinary } from "@bufbuild/protobuf";
import { type Channel, createClient, GrpcTransport, openChannel } from "@parley/rpc";
import { ConversationService } from "@parley/rpc/conversation";
import { LlmService, PromptSchema } from "@parley/rpc/llm";
import { INTERNAL_TOKEN } from "../../../tests/system/processes.ts";
import { waitUntilEmbedded } from "../../../tests/system/semantic-search.ts";
import { createTenant, type System } from "../../../tests/system/system.ts";
import type { RelevanceSet } from "./relevance-set.ts";
import type { QuestionResult } from "./score.ts";

export type KnowledgeBot = {
  /** Returns the passages that the search finds for a question, and the model's answer. */
  ask(question: string): Promise<QuestionResult>;
  /** Opens a turn and returns how long its search took. */
  measureSearchMs(question: string): Promise<number>;
  close(): void;
};

const TIMEOUT_MS = 30_000;

/** Creates a bot that answers from these documents with the built-in model. Its methods call conversation and llm-proxy without an edge. */
export async function createKnowledgeBot(system: System, documents: RelevanceSet["documents"]): Promise<KnowledgeBot> {
  const model = "builtin:extractive";
  const { workspaceId, botSlug, publicKey } = await createTenant(system.admin, { model });
  for (const { name, text } of documents) {
    const content = new Uint8Array(Buffer.from(text));
    await system.admin.knowledge.addSource({ workspaceId, botSlug, name, format: "md", content });
  }
  await waitUntilEmbedded(system, { workspaceId, botSlug });
  const channelTo = (port: number) => openChannel({ target: `127.0.0.1:${port}`, retryable: [] });
  const channels = { conversation: channelTo(system.conversation.port), llm: channelTo(system.llm.port) };
  const transportOn = (channel: Channel) =>
    new GrpcTransport(channel, (metadata) => metadata.set("authorization", `Bearer ${INTERNAL_TOKEN}`));
  const conversation = createClient(ConversationService, transportOn(channels.conversation));
  const llm = createClient(LlmService, transportOn(channels.llm));
  const { botId } = await conversation.resolveKey({ publicKey }, { timeoutMs: TIMEOUT_MS });
  const openTurn = (message: string) => {
    const turn = { workspaceId, turnId: randomUUID(), sessionId: randomUUID(), edgeId: randomUUID() };
    return conversation.openTurn({ ...turn, botId, source: "widget", message }, { timeoutMs: TIMEOUT_MS });
  };
  return {
    async measureSearchMs(question) {
      return Number((await openTurn(question)).retrievalMicroseconds) / 1_000;
    },
    async ask(message) {
      const { prompt } = await openTurn(message);
      let answer = "";
      const request = { workspaceId, turnId: randomUUID(), model, prompt };
      for await (const { event } of llm.generate(request, { timeoutMs: TIMEOUT_MS }))
        if (event.case === "delta") answer += event.value.text;
      return { passages: fromBinary(PromptSchema, prompt).passages.map(({ text }) => text), answer };
    },
    close() {
      for (const channel of Object.values(channels)) channel.close();
    },
  };
}
