import { ConfigError, Environment } from "@parley/service-kit/environment";

export type Config = ReturnType<typeof readConfig>;

/** Throws a ConfigError that lists every problem. */
export function readConfig(values: NodeJS.ProcessEnv) {
  const environment = new Environment(values);
  const issuer = environment.text("ISSUER", "http://localhost:8094");
  const servicesIssuer = environment.optionalText("JWT_ISSUER");
  if (!URL.canParse(issuer) || !isLoopback(new URL(issuer).hostname))
    environment.addProblem("ISSUER must have a loopback host: anyone who reaches the sign-in can sign in");
  // The services accept tokens of one issuer only.
  if (servicesIssuer !== undefined && servicesIssuer !== issuer)
    environment.addProblem("JWT_ISSUER names another identity provider: do not run the development sign-in beside it");
  return environment.finish({
    issuer,
    host: environment.text("HOST", "127.0.0.1"),
    port: environment.port("PORT", 8094),
    audience: environment.text("AUDIENCE", "parley"),
    /** Path of a private JWK. Without it, each start generates a key. */
    keyFile: environment.optionalText("KEY_FILE"),
    tokenTtlSeconds: environment.integer("TOKEN_TTL_SECONDS", 3_600, { min: 1 }),
    workspaceClaim: environment.text("WORKSPACE_CLAIM", "workspace_id"),
    /** The account that signs in if the sign-in request has no `login_hint`. It has the role `owner`. */
    owner: environment.text("OWNER", "demo-owner"),
    workspaceId: environment.text("WORKSPACE", "demo"),
    /** The console's origin; without it nobody can sign in to a console. */
    consoleUrl: environment.optionalUrl("CONSOLE_URL", ["http", "https"]),
    /** Whether anyone may use the client credentials parley:parley to request a token for any workspace. */
    issuesAnyToken: environment.oneOf("ISSUES_ANY_TOKEN", ["true", "false"], "false") === "true",
  });
}

export { ConfigError };

/** Whether browsers always resolve a host name to this machine. */
export function isLoopback(hostname: string): boolean {
  return ["localhost", "127.0.0.1", "[::1]"].includes(hostname) || hostname.endsWith(".localhost");
}
