import { resolve } from "node:path";
import { Environment } from "@parley/service-kit/environment";
import type { AdminService } from "./admin/service.ts";

export type Config = ReturnType<typeof readConfig>;

/** The variables that child processes inherit. None of them is a secret. */
const MACHINE_VARIABLES = ["PATH", "HOME", "TMPDIR", "LANG", "TZ", "NODE_EXTRA_CA_CERTS"];

/** Reads the CLI's environment. Throws a ConfigError that lists every problem. */
export function readConfig(values: NodeJS.ProcessEnv, workingDir: string) {
  const environment = new Environment(values);
  const http = (name: string) => environment.optionalUrl(name, ["http", "https"]);
  const remoteUrls: Record<AdminService, string | undefined> = {
    conversation: http("PARLEY_CONVERSATION_URL"),
    quota: http("PARLEY_QUOTA_URL"),
    llm: http("PARLEY_LLM_URL"),
  };
  // Package managers run scripts in the repository root. INIT_CWD is the directory of the user's shell.
  const isScript = environment.optional("npm_lifecycle_event") === "parley";
  return environment.finish({
    dataDir: resolve(workingDir, environment.text("DATA_DIR", ".parley")),
    filesDir: (isScript && environment.optional("INIT_CWD")) || workingDir,
    remoteUrls,
    /** The edge has no admin service; `parley top` reads its metrics. */
    edgeOpsUrl: http("PARLEY_EDGE_URL"),
    adminToken: environment.optional("ADMIN_TOKEN"),
    databaseUrl: environment.optionalUrl("DATABASE_URL", ["postgres", "postgresql"]),
    rolePasswords: {
      conversation: environment.optional("CONVERSATION_DATABASE_PASSWORD"),
      quota: environment.optional("QUOTA_DATABASE_PASSWORD"),
      "llm-proxy": environment.optional("LLM_DATABASE_PASSWORD"),
    },
    machine: machineEnvironment(values),
    color: environment.optional("NO_COLOR") === undefined,
    /** Whether the terminal can move its cursor. */
    terminal: environment.text("TERM", "dumb") !== "dumb",
  });
}

/** Returns the variables that every child process inherits. */
export function machineEnvironment(values: NodeJS.ProcessEnv): Record<string, string> {
  const set = MACHINE_VARIABLES.flatMap((name) => (values[name] ? [[name, values[name]] as const] : []));
  return Object.fromEntries(set);
}
