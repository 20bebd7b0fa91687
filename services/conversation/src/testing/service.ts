import type { DescService } from "@bufbuild/protobuf";
import { type Client, createClient as createConnectClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { type Channel, createClient, GrpcTransport, openChannel, type RpcClient } from "@parley/rpc";
import { ConversationService } from "@parley/rpc/conversation";
import { createLogger, Lifecycle } from "@parley/service-kit";
import { freePorts } from "@parley/test-support";
import { readConfig } from "../config.ts";
import { start } from "../server.ts";

export type TestService = {
  conversation: RpcClient<typeof ConversationService>;
  admin<S extends DescService>(service: S): Client<S>;
  opsUrl: string;
  stop(): Promise<void>;
};

const INTERNAL_TOKEN = "internal-test";
const ADMIN_TOKEN = "admin-test";

/** Starts the service in this process, on free ports. */
export async function startTestService(
  databaseUrl: string,
  quotaTarget: string,
  env: Record<string, string> = {},
): Promise<TestService> {
  const [grpcPort = 0, opsPort = 0] = await freePorts(2);
  const config = readConfig({
    DATABASE_URL: databaseUrl,
    QUOTA_TARGET: quotaTarget,
    GRPC_PORT: String(grpcPort),
    OPS_PORT: String(opsPort),
    INTERNAL_TOKEN,
    ADMIN_TOKEN,
    ...env,
  });
  const log = createLogger("test", "silent");
  const lifecycle = new Lifecycle(log);
  await start(config, log, lifecycle);
  const channel: Channel = openChannel({ target: `127.0.0.1:${grpcPort}`, retryable: [] });
  const opsUrl = `http://127.0.0.1:${opsPort}`;
  const transport = createConnectTransport({
    baseUrl: opsUrl,
    httpVersion: "1.1",
    interceptors: [
      (next) => (request) => {
        request.header.set("authorization", `Bearer ${ADMIN_TOKEN}`);
        return next(request);
      },
    ],
  });
  return {
    conversation: createClient(
      ConversationService,
      new GrpcTransport(channel, (metadata) => metadata.set("authorization", `Bearer ${INTERNAL_TOKEN}`)),
    ),
    admin: (service) => createConnectClient(service, transport),
    opsUrl,
    stop: async () => {
      channel.close();
      await lifecycle.close();
    },
  };
}
