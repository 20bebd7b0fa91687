import { Server } from "@grpc/grpc-js";
import {
  type Channel,
  createClient,
  GrpcTransport,
  implementService,
  openChannel,
  type RpcClient,
  RpcError,
  status,
} from "@parley/rpc";
import { LlmService } from "@parley/rpc/llm";
import { listen } from "@parley/service-kit/testing";
import { embedText } from "@parley/test-support";

export type TestLlm = {
  target: string;
  client: RpcClient<typeof LlmService>;
  /** The texts of each Embed call. Calls without texts, which only read the model, are not included. */
  calls: string[][];
  /** The embedding model; undefined if none is configured. */
  model: string | undefined;
  /** Runs before the response to each call with texts. An error that it throws fails the call. */
  beforeResponse: (texts: readonly string[]) => Promise<void> | void;
  close(): void;
};

/** Starts a fake llm-proxy on a real gRPC server. It computes embeddings from hashes of words, and generates no replies. */
export async function startTestLlm(): Promise<TestLlm> {
  const server = new Server();
  let channel: Channel | undefined;
  const llm: Omit<TestLlm, "client"> = {
    target: "",
    calls: [],
    model: "test:words",
    beforeResponse: () => undefined,
    close: () => {
      channel?.close();
      server.forceShutdown();
    },
  };
  implementService(
    server,
    LlmService,
    {
      generate: () => {
        throw new RpcError(status.UNIMPLEMENTED, "unimplemented", "not implemented by the test double");
      },
      // Stands for a model that accepts no temperature.
      checkModelSettings: async ({ model, settings }) => ({
        problem:
          settings?.temperature !== undefined && model.includes("thinker") ? `${model}: temperature is refused` : "",
      }),
      // Each turn costs the same.
      listTurnCosts: async ({ turnIds }) => ({
        costs: turnIds.map((turnId) => ({ turnId, cost: "0.0012500000", tokensCached: 7 })),
      }),
      fillCallLog: async () => ({ filled: 0 }),
      describeTools: async ({ tools }) => ({ tools: tools.map(({ name }) => ({ name, functions: [name] })) }),
      async embed({ texts }) {
        const { model } = llm;
        if (texts.length === 0) return { model: model ?? "" };
        if (model === undefined)
          throw new RpcError(status.FAILED_PRECONDITION, "embeddings_not_configured", "no model");
        llm.calls.push(texts);
        await llm.beforeResponse(texts);
        return { model, embeddings: texts.map((text) => ({ values: embedText(text) })), dimensions: 256 };
      },
    },
    (_context, next) => next(),
  );
  llm.target = `127.0.0.1:${await listen(server)}`;
  channel = openChannel({ target: llm.target, retryable: [] });
  return Object.assign(llm, { client: createClient(LlmService, new GrpcTransport(channel, () => undefined)) });
}
