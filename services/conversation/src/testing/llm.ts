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
  /** The texts of each call, as they came; calls that only ask for the model are not among them. */
  calls: string[][];
  /** What embeds; undefined where nothing is configured. */
  model: string | undefined;
  /** Run before each call with texts is answered; what it throws, the caller gets. */
  before: (texts: readonly string[]) => Promise<void> | void;
  close(): void;
};

/** An llm-proxy that embeds, on a real gRPC server. */
export async function startTestLlm(): Promise<TestLlm> {
  const server = new Server();
  let channel: Channel | undefined;
  const llm: Omit<TestLlm, "client"> = {
    target: "",
    calls: [],
    model: "test:words",
    before: () => undefined,
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
        throw new RpcError(status.UNIMPLEMENTED, "unimplemented", "not asked in these tests");
      },
      async embed({ texts }) {
        const { model } = llm;
        if (texts.length === 0) return { model: model ?? "" };
        if (model === undefined)
          throw new RpcError(status.FAILED_PRECONDITION, "embeddings_not_configured", "no model");
        llm.calls.push(texts);
        await llm.before(texts);
        return { model, embeddings: texts.map((text) => ({ values: embedText(text) })), dimensions: 256 };
      },
    },
    (_context, next) => next(),
  );
  llm.target = `127.0.0.1:${await listen(server)}`;
  channel = openChannel({ target: llm.target, retryable: [] });
  return Object.assign(llm, { client: createClient(LlmService, new GrpcTransport(channel, () => undefined)) });
}
