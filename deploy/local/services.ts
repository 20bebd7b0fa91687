import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { NODE_FLAGS } from "@parley/cli";
import { STOP_WITHIN_MS } from "@parley/service-kit/lifecycle";
import type { Config } from "./config.ts";
import { urlAs } from "./database.ts";
import { StartError, systemCode } from "./errors.ts";
import { LOOPBACK, type Ports } from "./ports.ts";
import type { ProcessSpec } from "./process-life.ts";
import type { Secrets } from "./secrets.ts";
import type { Tokens } from "./tokens.ts";

export type ServiceName = "edge" | "conversation" | "quota" | "llm-proxy";

export type Parts = {
  config: Config;
  ports: Ports;
  secrets: Secrets;
  /** An administrator's. */
  databaseUrl: string;
  tokens: Tokens;
  /** Where the built widget is. */
  widgetDir: string;
};

/** Past the moment at which a service has ended by itself. */
const SLACK_MS = 2_000;

/** How each service is started: its own environment, and of what is secret only what it needs. */
export async function serviceSpecs(parts: Parts): Promise<Record<ServiceName, ProcessSpec>> {
  const { config, ports, secrets, databaseUrl, tokens, widgetDir } = parts;
  const spec = (name: ServiceName, opsPort: number, own: Record<string, string>): ProcessSpec => ({
    name,
    args: [...NODE_FLAGS, scriptOf(name)],
    env: {
      ...config.machine,
      HOST: LOOPBACK,
      OPS_PORT: String(opsPort),
      ADMIN_TOKEN: secrets.adminToken,
      INTERNAL_TOKEN: secrets.internalToken,
      ...own,
      ...config.passedOn[name],
    },
    readyUrl: `http://${LOOPBACK}:${opsPort}/healthz/ready`,
    logPath: join(config.dataDir, "logs", `${name}.log`),
    stopTimeoutMs: config.drainMs + STOP_WITHIN_MS + SLACK_MS,
  });
  const targets = {
    CONVERSATION_TARGET: `${LOOPBACK}:${ports.conversation}`,
    QUOTA_TARGET: `${LOOPBACK}:${ports.quota}`,
    LLM_TARGET: `${LOOPBACK}:${ports.llm}`,
  };
  return {
    quota: spec("quota", ports.quotaOps, {
      GRPC_PORT: String(ports.quota),
      DATABASE_URL: urlAs(databaseUrl, "parley_quota", secrets.quotaPassword),
    }),
    conversation: spec("conversation", ports.conversationOps, {
      GRPC_PORT: String(ports.conversation),
      DATABASE_URL: urlAs(databaseUrl, "parley_conversation", secrets.conversationPassword),
      QUOTA_TARGET: targets.QUOTA_TARGET,
      LLM_TARGET: targets.LLM_TARGET,
    }),
    "llm-proxy": spec("llm-proxy", ports.llmOps, {
      GRPC_PORT: String(ports.llm),
      DATABASE_URL: urlAs(databaseUrl, "parley_llm", secrets.llmPassword),
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

/** The variables that the operator's LLM_CONFIG names: it calls providers' keys what it likes. */
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
