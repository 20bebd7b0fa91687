import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { NODE_FLAGS } from "@parley/cli";
import { SERVICE_CLOSE_TIMEOUT_MS } from "@parley/service-kit/lifecycle";
import type { Config } from "../config.ts";
import { urlForRole } from "../database/database.ts";
import { StartError, systemCode } from "../errors.ts";
import type { Secrets } from "../secrets.ts";
import type { TokenIssuer } from "../tokens.ts";
import { buildEdgeUrl, LOOPBACK, type Ports } from "./ports.ts";
import type { ProcessSpec } from "./process-run.ts";

export type ServiceName = "edge" | "conversation" | "quota" | "llm-proxy" | "console";

export type ServiceInputs = {
  config: Config;
  ports: Ports;
  secrets: Secrets;
  /** The database's URL with an administrator as its user. */
  databaseUrl: string;
  /** Describes the issuer of owners' access tokens. */
  tokenIssuer: TokenIssuer;
  widgetDir: string;
  /** The directory of the console's built page. */
  consoleDir: string;
};

/** A stopping service exits within drainMs + SERVICE_CLOSE_TIMEOUT_MS. The supervisor kills a service that still runs this much later. */
const STOP_GRACE_MS = 2_000;

const HAS_ADMIN_TOKEN: Readonly<Record<ServiceName, boolean>> = {
  edge: false,
  conversation: true,
  quota: true,
  "llm-proxy": true,
  console: false,
};

/** Returns how to start each service. A service gets only the secrets that it needs. */
export async function buildServiceSpecs(inputs: ServiceInputs): Promise<Record<ServiceName, ProcessSpec>> {
  const { config, ports, secrets, databaseUrl, tokenIssuer, widgetDir, consoleDir } = inputs;
  const spec = (name: ServiceName, opsPort: number, own: Record<string, string>): ProcessSpec => ({
    name,
    args: [...NODE_FLAGS, scriptPath(name)],
    env: {
      // For example PATH and HOME.
      ...config.systemVariables,
      HOST: LOOPBACK,
      OPS_PORT: String(opsPort),
      ...(HAS_ADMIN_TOKEN[name] && { ADMIN_TOKEN: secrets.adminToken }),
      ...(name !== "console" && { INTERNAL_TOKEN: secrets.internalToken }),
      ...tokenIssuer.serviceVariables,
      ...own,
      // Set in the environment of `pnpm start`. These variables override those above.
      ...config.inheritedVariables[name],
    },
    readyUrl: `http://${LOOPBACK}:${opsPort}/healthz/ready`,
    logPath: join(config.dataDir, "logs", `${name}.log`),
    stopTimeoutMs: config.drainMs + SERVICE_CLOSE_TIMEOUT_MS + STOP_GRACE_MS,
  });
  const targets = {
    CONVERSATION_TARGET: `${LOOPBACK}:${ports.conversation}`,
    QUOTA_TARGET: `${LOOPBACK}:${ports.quota}`,
    LLM_TARGET: `${LOOPBACK}:${ports.llm}`,
  };
  return {
    quota: spec("quota", ports.quotaOps, {
      GRPC_PORT: String(ports.quota),
      DATABASE_URL: urlForRole(databaseUrl, `${config.rolePrefix}quota`, secrets.quotaPassword),
    }),
    conversation: spec("conversation", ports.conversationOps, {
      GRPC_PORT: String(ports.conversation),
      DATABASE_URL: urlForRole(databaseUrl, `${config.rolePrefix}conversation`, secrets.conversationPassword),
      QUOTA_TARGET: targets.QUOTA_TARGET,
      LLM_TARGET: targets.LLM_TARGET,
      ENCRYPTION_KEY: secrets.encryptionKey,
    }),
    "llm-proxy": spec("llm-proxy", ports.llmOps, {
      GRPC_PORT: String(ports.llm),
      DATABASE_URL: urlForRole(databaseUrl, `${config.rolePrefix}llm`, secrets.llmPassword),
      ...(await readProviderVariables(config)),
    }),
    edge: spec("edge", ports.edgeOps, {
      PUBLIC_HOST: config.publicHost,
      PORT: String(ports.edge),
      WIDGET_DIR: widgetDir,
      ...targets,
    }),
    // The console's public port listens on PUBLIC_HOST, its ops port on HOST.
    console: spec("console", ports.consoleOps, {
      PUBLIC_HOST: LOOPBACK,
      PORT: String(ports.console),
      CONSOLE_URL: `http://localhost:${ports.console}`,
      OIDC_CLIENT_ID: "parley-console",
      SESSION_SECRET: secrets.sessionSecret,
      CONVERSATION_URL: `http://${LOOPBACK}:${ports.conversationOps}`,
      QUOTA_URL: `http://${LOOPBACK}:${ports.quotaOps}`,
      EDGE_URL: buildEdgeUrl(config, LOOPBACK),
      PUBLIC_EDGE_URL: buildEdgeUrl(config),
      CONSOLE_DIR: consoleDir,
      WIDGET_DIR: widgetDir,
    }),
  };
}

/** The environment variable with a provider's API key, by the provider's preset (services/llm-proxy/src/settings/presets.ts). */
export const PRESET_KEY_VARIABLES: Readonly<Record<string, string>> = {
  openai: "OPENAI_API_KEY",
  anthropic: "ANTHROPIC_API_KEY",
  google: "GEMINI_API_KEY",
  mistral: "MISTRAL_API_KEY",
  groq: "GROQ_API_KEY",
  together: "TOGETHER_API_KEY",
  openrouter: "OPENROUTER_API_KEY",
};

/**
 * Returns the environment variables that the LLM_CONFIG file may need: those whose names occur anywhere in the file, such as MY_KEY in
 * `api_key_env: MY_KEY`, and the key variables of presets whose names occur in it.
 */
async function readProviderVariables({ llmConfigPath, pickVariables }: Config): Promise<Record<string, string>> {
  if (!llmConfigPath) return {};
  let text: string;
  try {
    text = await readFile(llmConfigPath, "utf8");
  } catch (cause) {
    throw new StartError(`cannot read LLM_CONFIG ${llmConfigPath} (${systemCode(cause)}): correct its path`, { cause });
  }
  const named = text.match(/\b[A-Z_][A-Z0-9_]*\b/g) ?? [];
  const words = text.match(/\w+/g) ?? [];
  return pickVariables([...named, ...words.flatMap((word) => PRESET_KEY_VARIABLES[word] ?? [])]);
}

function scriptPath(name: ServiceName): string {
  return fileURLToPath(new URL(`../../../services/${name}/src/main.ts`, import.meta.url));
}
