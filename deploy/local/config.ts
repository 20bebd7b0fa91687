import { join, resolve } from "node:path";
import { pickSystemVariables } from "@parley/cli";
import { Environment } from "@parley/service-kit/environment";
import { PORT_COUNT } from "./processes/ports.ts";

export type Config = ReturnType<typeof readConfig>;

const IDENTITY_PROVIDER_VARIABLES = ["JWT_ISSUER", "JWT_AUDIENCE", "JWKS_URL"];
const JWT_VARIABLES = [
  ...IDENTITY_PROVIDER_VARIABLES,
  "JWT_WORKSPACE_CLAIM",
  "JWT_ROLE_CLAIM",
  "JWT_OWNER_ROLES",
  "JWT_AGENT_ROLES",
  "JWT_VIEWER_ROLES",
];
const EDGE_VARIABLES = [
  "REDIS_URL",
  "REDIS_MODE",
  "REDIS_SENTINEL_MASTER",
  "REDIS_SENTINEL_PASSWORD",
  "TRUSTED_PROXIES",
  "MAX_STREAMS",
  "MAX_STREAMS_PER_CLIENT",
  "EDGE_DOCTOR_REQUESTS",
  "DETACHED_REPLY_MS",
  "RPC_MULTIPLEX",
];
const CONVERSATION_VARIABLES = [
  "COST_PLANS",
  "EGRESS_ALLOW",
  "EGRESS_PROXY",
  "KEY_PREFIX",
  "MAIL_FROM",
  "OWNER_TOOL_PLANS",
  "PLAN_MODELS",
  "RPC_MULTIPLEX",
  "SMTP_URL",
  "USAGE_RETENTION_MONTHS",
];
const QUOTA_VARIABLES = ["USAGE_RETENTION_MONTHS"];
const CONSOLE_VARIABLES = ["OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET", "OIDC_SCOPE", "OIDC_RESOURCE"];
const LLM_VARIABLES = [
  "OPENAI_API_KEY",
  "OPENAI_BASE_URL",
  "OLLAMA_HOST",
  "DEFAULT_MODEL",
  "LLM_CONFIG",
  "EGRESS_ALLOW",
  "EGRESS_PROXY",
  "PROVIDER_PROXY",
  "CALL_LOG_RETENTION_DAYS",
];
const COMMON_VARIABLES = [
  ...JWT_VARIABLES,
  "LOG_LEVEL",
  "DRAIN_MS",
  "OTEL_EXPORTER_OTLP_ENDPOINT",
  "OTEL_EXPORTER_OTLP_HEADERS",
  "OTEL_TRACES_SAMPLER_ARG",
];

/** Reads the environment of the start command. Throws a ConfigError that lists every problem. */
export function readConfig(values: NodeJS.ProcessEnv, workingDir: string) {
  const environment = new Environment(values);
  const pickVariables = (names: readonly string[]): Record<string, string> => {
    const picked: Record<string, string> = {};
    for (const name of names) {
      const { [name]: value, [`${name}_FILE`]: file } = values;
      if (value) picked[name] = value;
      if (file) picked[`${name}_FILE`] = resolve(workingDir, file);
    }
    return picked;
  };
  const missingIdentityVariables = IDENTITY_PROVIDER_VARIABLES.filter((name) => !values[name]);
  if (missingIdentityVariables.length > 0 && missingIdentityVariables.length < IDENTITY_PROVIDER_VARIABLES.length) {
    environment.addProblem(
      `${missingIdentityVariables.join(" and ")} must be set too, because the other settings of an identity provider are set`,
    );
  }
  const dataDir = resolve(workingDir, environment.text("DATA_DIR", ".parley"));
  const llmConfig = environment.optionalText("LLM_CONFIG");
  return environment.finish({
    /** The first of PORT_COUNT ports. */
    port: environment.integer("PORT", 8080, { min: 1, max: 65_536 - PORT_COUNT }),
    /** The address on which the public port listens. `localhost` is both loopback addresses, so other machines cannot connect. */
    publicHost: environment.text("PUBLIC_HOST", "localhost"),
    dataDir,
    /** The services' roles are named after their schemas, such as `parley_quota`. */
    rolePrefix: environment.text("DATABASE_ROLE_PREFIX", "parley_"),
    databaseUrl: environment.optionalUrl("DATABASE_URL", ["postgres", "postgresql"]),
    adminToken: environment.optionalText("ADMIN_TOKEN"),
    internalToken: environment.optionalText("INTERNAL_TOKEN"),
    hasIdentityProvider: missingIdentityVariables.length === 0,
    /**
     * The variables without which a workspace's members cannot sign in to the console: an identity provider must issue roles and have a client
     * for the console.
     */
    missingConsoleVariables:
      missingIdentityVariables.length > 0 ? [] : ["OIDC_CLIENT_ID", "JWT_ROLE_CLAIM"].filter((name) => !values[name]),
    workspaceClaim: environment.text("JWT_WORKSPACE_CLAIM", "workspace_id"),
    drainMs: environment.integer("DRAIN_MS", 25_000),
    inheritedVariables: {
      edge: pickVariables([...COMMON_VARIABLES, ...EDGE_VARIABLES]),
      conversation: pickVariables([...COMMON_VARIABLES, ...CONVERSATION_VARIABLES]),
      quota: pickVariables([...COMMON_VARIABLES, ...QUOTA_VARIABLES]),
      console: pickVariables([...COMMON_VARIABLES, ...CONSOLE_VARIABLES]),
      "llm-proxy": {
        ...pickVariables([...COMMON_VARIABLES, ...LLM_VARIABLES]),
        ...(llmConfig && { LLM_CONFIG: resolve(workingDir, llmConfig) }),
      },
    },
    /** Returns the named variables and their `<NAME>_FILE` variables. Skips unset variables. */
    pickVariables,
    llmConfigPath: llmConfig && resolve(workingDir, llmConfig),
    /** Variables that every Node process gets. The compile cache makes the next start faster. */
    systemVariables: { ...pickSystemVariables(values), NODE_COMPILE_CACHE: join(dataDir, "cache") },
  });
}
