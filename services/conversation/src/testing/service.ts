import { fileURLToPath } from "node:url";
import type { DescService } from "@bufbuild/protobuf";
import { type Client, createClient as createConnectClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { createClient, GrpcTransport, openChannel, type RpcClient } from "@parley/rpc";
import { ConversationService, HandoffService, SessionAdminService } from "@parley/rpc/conversation";
import { createLogger, createServiceMetrics, Lifecycle } from "@parley/service-kit";
import { freePorts, nodeFlags, type RunningProcess, startProcess } from "@parley/test-support";
import { readConfig } from "../config.ts";
import { start } from "../server.ts";

const INTERNAL_TOKEN = "internal-test";
export const ADMIN_TOKEN = "admin-test";

type Clients = {
  conversation: RpcClient<typeof ConversationService>;
  /** Calls as the edge does. */
  sessions: RpcClient<typeof SessionAdminService>;
  /** Calls as the edge does. */
  handoffs: RpcClient<typeof HandoffService>;
  /** Returns a client of one of the admin services. */
  createAdminClient<S extends DescService>(service: S): Client<S>;
  opsUrl: string;
};

export type TestService = Clients & { stop(): Promise<void> };

export type ServiceProcess = Clients & {
  process: RunningProcess;
  /** Closes the clients' connections. */
  close(): void;
};

/** Starts the service in this process, on free ports. */
export async function startTestService(
  databaseUrl: string,
  quotaTarget: string,
  env: Record<string, string> = {},
): Promise<TestService> {
  const settings = await settingsOf(databaseUrl, quotaTarget);
  const log = createLogger("test", "silent");
  const lifecycle = new Lifecycle(log);
  await start(readConfig({ ...settings, ...env }), log, lifecycle, createServiceMetrics("conversation"));
  const { close, ...clients } = connect(settings);
  return {
    ...clients,
    stop: async () => {
      close();
      await lifecycle.close();
    },
  };
}

/** Starts the service in a process of its own, on free ports. */
export async function startServiceProcess(
  databaseUrl: string,
  quotaTarget: string,
  { flags = [], env = {} }: { flags?: readonly string[]; env?: Record<string, string> } = {},
): Promise<ServiceProcess> {
  const settings = { ...(await settingsOf(databaseUrl, quotaTarget)), ...env };
  const clients = connect(settings);
  const service = await startProcess({
    name: "conversation",
    command: process.execPath,
    args: [...nodeFlags, ...flags, fileURLToPath(new URL("../main.ts", import.meta.url))],
    env: settings,
    ready: () =>
      fetch(`${clients.opsUrl}/healthz/ready`).then(
        (response) => response.ok,
        () => false,
      ),
  });
  await service.waitReady();
  return { ...clients, process: service };
}

async function settingsOf(databaseUrl: string, quotaTarget: string) {
  const [grpcPort = 0, opsPort = 0] = await freePorts(2);
  return {
    DATABASE_URL: databaseUrl,
    QUOTA_TARGET: quotaTarget,
    GRPC_PORT: String(grpcPort),
    OPS_PORT: String(opsPort),
    INTERNAL_TOKEN,
    ADMIN_TOKEN,
  };
}

function connect(ports: { GRPC_PORT: string; OPS_PORT: string }): Clients & { close(): void } {
  const channel = openChannel({ target: `127.0.0.1:${ports.GRPC_PORT}`, retryable: [] });
  const grpc = new GrpcTransport(channel, (metadata) => metadata.set("authorization", `Bearer ${INTERNAL_TOKEN}`));
  const opsUrl = `http://127.0.0.1:${ports.OPS_PORT}`;
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
    conversation: createClient(ConversationService, grpc),
    sessions: createClient(SessionAdminService, grpc),
    handoffs: createClient(HandoffService, grpc),
    createAdminClient: (service) => createConnectClient(service, transport),
    opsUrl,
    close: () => channel.close(),
  };
}
