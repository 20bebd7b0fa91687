import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { NODE_FLAGS } from "@parley/cli";
import { STOP_WITHIN_MS } from "@parley/service-kit/lifecycle";
import type { Config } from "./config.ts";
import { urlForRole } from "./database.ts";
import { StartError, systemCode } from "./errors.ts";
import { LOOPBACK, type Ports } from "./ports.ts";
import type { ProcessSpec } from "./process-life.ts";
import type { Secrets } from "./secrets.ts";
import type { Tokens } from "./tokens.ts";

export type ServiceName = "edge" | "conversation" | "quota" | "llm-proxy";

export type ServiceInputs = {
  config: Config;
  ports: Ports;
  secrets: Secrets;
  /** An administrator's URL. */
  databaseUrl: string;
  tokens: Tokens;
  /** The directory of the built widget. */
  widgetDir: string;
};

/** Added to a service's own stop timeout. */
const STOP_GRACE_MS = 2_000;

/** Returns how to start each service. A service gets only the secrets that it needs. */
export async function serviceSpecs(inputs: ServiceInputs): Promise<Record<ServiceName, ProcessSpec>> {
  const { config, ports, secrets, databaseUrl, tokens, widgetDir } = inputs;
  const spec = (name: ServiceName, opsPort: number, own: Record<string, string>): ProcessSpec => ({
    name,
    args: [...NODE_FLAGS, scriptOf(name)],
    env: {
      ...config.machine,
      HOST: LOOPBACK,
      OPS_PORT: String(opsPort),
      ...(name !== "edge" && { ADMIN_TOKEN: secrets.adminToken }),
      INTERNAL_TOKEN: secrets.internalToken,
      ...own,
      ...config.passedOn[name],
    },
    readyUrl: `http://${LOOPBACK}:${opsPort}/healthz/ready`,
    logPath: join(config.dataDir, "logs", `${name}.log`),
    stopTimeoutMs: config.drainMs + STOP_WITHIN_MS + STOP_GRACE_MS,
  });
  const targets = {
    CONVERSATION_TARGET: `${LOOPBACK}:${ports.conversation}`,
    QUOTA_TARGET: `${LOOPBACK}:${ports.quota}`,
    LLM_TARGET: `${LOOPBACK}:${ports.llm}`,
  };
  return {
    quota: spec("quota", ports.quotaOps, {
      GRPC_PORT: String(ports.quota),
      DATABASE_URL: urlForRole(databaseUrl, "parley_quota", secrets.quotaPassword),
    }),
    conversation: spec("conversation", ports.conversationOps, {
      GRPC_PORT: String(ports.conversation),
      DATABASE_URL: urlForRole(databaseUrl, "parley_conversation", secrets.conversationPassword),
      QUOTA_TARGET: targets.QUOTA_TARGET,
      LLM_TARGET: targets.LLM_TARGET,
    }),
    "llm-proxy": spec("llm-proxy", ports.llmOps, {
      GRPC_PORT: String(ports.llm),
      DATABASE_URL: urlForRole(databaseUrl, "parley_llm", secrets.llmPassword),
      ...(await providerKeys(config)),
    }),
    edge: spec("edge", ports.edgeOps, {
      PORT: String(ports.edge),
      WIDGET_DIR: widgetDir,
      ...targets,
      ...tokens.edgeEnvironment,
    }),
  };
}

/** Returns the environment variables that LLM_CONFIG names, such as those with provider keys. */
async function providerKeys({ llmConfigPath, readVariable }: Config): Promise<Record<string, string>> {
  if (!llmConfigPath) return {};
  let text: string;
  try {
    text = await readFile(llmConfigPath, "utf8");
  } catch (cause) {
    throw new StartError(`cannot read LLM_CONFIG ${llmConfigPath} (${systemCode(cause)}): correct its path`, { cause });
  }
  const names = new Set(text.match(/\b[A-Z_][A-Z0-9_]+\b/g));
  return Object.fromEntries([...names].flatMap((name) => [[name, readVariable(name)]]).filter(([, value]) => value));
}

function scriptOf(name: ServiceName): string {
  return fileURLToPath(new URL(`../../services/${name}/src/main.ts`, import.meta.url));
}
