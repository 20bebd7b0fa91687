import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { Environment } from "@parley/service-kit/environment";
import { readSecret } from "@parley/service-kit/secrets";
import { parseTokens } from "@parley/service-kit/tokens";
import type { SelectingService, ServiceWithAdmin } from "./admin/service.ts";
import { MIGRATION_VARIABLES } from "./local/migrate-service.ts";
import { parseServers, parseUrls } from "./shards/settings.ts";

export type Config = ReturnType<typeof readConfig>;

/** The variables that child processes inherit. None of them is a secret. */
const SYSTEM_VARIABLES = ["PATH", "HOME", "TMPDIR", "LANG", "TZ", "NODE_EXTRA_CA_CERTS"];

/** Reads the CLI's environment. Throws a ConfigError that lists every problem. */
export function readConfig(values: NodeJS.ProcessEnv, workingDir: string) {
  const environment = new Environment(values);
  const readHttpUrl = (name: string) => environment.optionalUrl(name, ["http", "https"]);
  const adminUrls: Record<SelectingService, string | undefined> = {
    conversation: readHttpUrl("PARLEY_CONVERSATION_URL"),
    quota: readHttpUrl("PARLEY_QUOTA_URL"),
    llm: readHttpUrl("PARLEY_LLM_URL"),
  };
  /** URLs whose host names resolve to every replica, for `parley top`. The defaults are the admin URLs. */
  const replicaUrls: Record<SelectingService, string | undefined> = {
    conversation: readHttpUrl("PARLEY_CONVERSATION_REPLICAS_URL") ?? adminUrls.conversation,
    quota: readHttpUrl("PARLEY_QUOTA_REPLICAS_URL") ?? adminUrls.quota,
    llm: readHttpUrl("PARLEY_LLM_REPLICAS_URL") ?? adminUrls.llm,
  };
  /** The numbers of replicas below which `parley top` reports a replica as missing. 0 reports none. */
  const minReplicas: Record<ServiceWithAdmin, number> = {
    edge: environment.integer("PARLEY_EDGE_MIN_REPLICAS", 0),
    conversation: environment.integer("PARLEY_CONVERSATION_MIN_REPLICAS", 0),
    quota: environment.integer("PARLEY_QUOTA_MIN_REPLICAS", 0),
    llm: environment.integer("PARLEY_LLM_MIN_REPLICAS", 0),
  };
  // Package managers run scripts in the repository root. INIT_CWD is the directory of the user's shell.
  const isPackageScript = environment.optionalText("npm_lifecycle_event") === "parley";
  const configDir = environment.text("XDG_CONFIG_HOME", join(environment.text("HOME", homedir()), ".config"));
  return environment.finish({
    dataDir: resolve(workingDir, environment.text("DATA_DIR", ".parley")),
    /** The directory for relative FILE arguments of commands. */
    filesDir: (isPackageScript && environment.optionalText("INIT_CWD")) || workingDir,
    adminUrls,
    replicaUrls,
    minReplicas,
    /** The ops port of the edge, for its metrics and its admin service. */
    edgeOpsUrl: readHttpUrl("PARLEY_EDGE_URL"),
    adminToken: readFirstToken(environment, "ADMIN_TOKEN"),
    /** For the edge, which does not have the admin token. */
    internalToken: readFirstToken(environment, "INTERNAL_TOKEN"),
    /** A member's login. The CLI uses it if `adminToken` is undefined. */
    login: {
      path: resolve(workingDir, environment.text("PARLEY_LOGIN_FILE", join(configDir, "parley", "login.json"))),
      issuer: environment.optionalUrl("PARLEY_LOGIN_ISSUER", ["https", "http"]),
      clientId: environment.optionalText("PARLEY_LOGIN_CLIENT_ID"),
      scope: environment.optionalText("PARLEY_LOGIN_SCOPE"),
      audience: environment.optionalText("PARLEY_LOGIN_AUDIENCE"),
      resource: environment.optionalText("PARLEY_LOGIN_RESOURCE"),
    },
    /** A visitor token that `parley doctor` checks. */
    visitorToken: environment.optionalText("PARLEY_VISITOR_TOKEN"),
    databaseUrl: environment.optionalUrl("DATABASE_URL", ["postgres", "postgresql"]),
    /** Passwords of the services' database roles. `parley migrate` sets them. */
    rolePasswords: {
      conversation: environment.optionalText("CONVERSATION_DATABASE_PASSWORD"),
      quota: environment.optionalText("QUOTA_DATABASE_PASSWORD"),
      "llm-proxy": environment.optionalText("LLM_DATABASE_PASSWORD"),
    },
    migrationVariables: pickVariables(values, MIGRATION_VARIABLES),
    /** For `parley shards`. */
    shards: {
      count: environment.integer("DATABASE_SHARDS", 1, { min: 1, max: 64 }),
      rolePrefix: environment.text("DATABASE_ROLE_PREFIX", "parley_"),
      roleSuffix: environment.text("DATABASE_ROLE_SUFFIX", ""),
      servers: environment.optionalSecret("PARLEY_SHARD_SERVERS", parseServers),
      routerAdminUrls: environment.optionalSecret("PARLEY_ROUTER_ADMIN_URLS", parseUrls),
    },
    systemVariables: pickSystemVariables(values),
    isColorEnabled: environment.optionalText("NO_COLOR") === undefined,
    canMoveCursor: environment.text("TERM", "dumb") !== "dumb",
  });
}

/** Returns the first token of the file that `<name>_FILE` names, or of the variable. */
function readFirstToken(environment: Environment, name: string): string | undefined {
  const source = environment.optionalSecret(name, parseTokens);
  if (source === undefined) return undefined;
  try {
    return readSecret(source)[0];
  } catch (error) {
    // If the token is in a variable, optionalSecret has already added this problem.
    if ("file" in source) environment.addProblem(`${name}: ${error instanceof Error ? error.message : error}`);
    return undefined;
  }
}

/** Returns the variables of the operating system that every child process needs, such as PATH, HOME and TZ. None is a secret. */
export function pickSystemVariables(values: NodeJS.ProcessEnv): Record<string, string> {
  return pickVariables(values, SYSTEM_VARIABLES);
}

function pickVariables(values: NodeJS.ProcessEnv, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.flatMap((name) => (values[name] ? [[name, values[name]] as const] : [])));
}
