import { Environment, LOG_LEVELS, parseSecretText, readJwtSettings, readTracing } from "@parley/service-kit";

export type Config = ReturnType<typeof readConfig>;

const MIN_SECRET_LENGTH = 32;

/** Throws a ConfigError that lists every problem. */
export function readConfig(values: NodeJS.ProcessEnv) {
  const environment = new Environment(values);
  const publicUrl = environment.requiredText("CONSOLE_URL", "the origin that owners open");
  const jwt = readJwtSettings(environment);
  for (const [name, url] of [
    ["CONSOLE_URL", publicUrl],
    ["JWT_ISSUER", jwt.issuer],
  ] as const) {
    if (url !== "" && !isSecure(url))
      environment.addProblem(`${name} must be an https URL, or an http URL of this machine`);
  }
  if (jwt.roles === undefined)
    environment.addProblem("JWT_ROLE_CLAIM is not set: without roles the services refuse every call of the console");
  return environment.finish({
    publicHost: environment.text("PUBLIC_HOST", "0.0.0.0"),
    publicPort: environment.port("PORT", 8090),
    opsHost: environment.text("HOST", "127.0.0.1"),
    opsPort: environment.port("OPS_PORT", 8091),
    opsTlsDir: environment.optionalText("OPS_TLS_DIR"),
    origin: URL.canParse(publicUrl) ? new URL(publicUrl).origin : "",
    /** How to read and verify access tokens. The services have the same settings. */
    jwt,
    signIn: {
      clientId: environment.requiredText("OIDC_CLIENT_ID", "the console's client at your identity provider"),
      /** Undefined for a public client, which PKCE protects. */
      clientSecret: environment.optionalSecret("OIDC_CLIENT_SECRET", parseSecretText),
      scope: environment.text("OIDC_SCOPE", "openid"),
      /** The resource parameter of RFC 8707, if the identity provider needs it to issue a JWT for the audience. */
      resource: environment.optionalText("OIDC_RESOURCE"),
    },
    sessionSecrets: environment.requiredSecret(
      "SESSION_SECRET",
      parseSessionSecrets,
      "the secret that encrypts the session cookies",
    ),
    /** The ops ports of the services whose admin methods the console forwards. */
    adminUrls: {
      conversation: environment.requiredUrl("CONVERSATION_URL", ["http", "https"], "conversation's ops port"),
      quota: environment.requiredUrl("QUOTA_URL", ["http", "https"], "quota's ops port"),
    },
    edgeUrl: environment.requiredUrl("EDGE_URL", ["http", "https"], "the edge's URL for the console"),
    /** The address of the edge for the embed snippet. If undefined, the snippet uses edgeUrl. */
    publicEdgeUrl: environment.optionalUrl("PUBLIC_EDGE_URL", ["http", "https"]),
    pageDir: environment.requiredText("CONSOLE_DIR", "the directory of the built page"),
    widgetDir: environment.requiredText("WIDGET_DIR", "the directory of the built widget, for the preview"),
    drainMs: environment.integer("DRAIN_MS", 25_000),
    logLevel: environment.oneOf("LOG_LEVEL", LOG_LEVELS, "info"),
    tracing: readTracing(environment),
  });
}

/** Parses one secret per line. The first secret encrypts cookies, and every secret can decrypt them. */
function parseSessionSecrets(text: string): string[] {
  const secrets = parseSecretText(text).split(/\s*\n\s*/);
  if (secrets.some(({ length }) => length < MIN_SECRET_LENGTH))
    throw new Error(`must have at least ${MIN_SECRET_LENGTH} characters in each line`);
  return secrets;
}

/** Whether a URL uses HTTPS, or plain HTTP to this machine. Browsers send the console's Secure cookies to no other URL. */
function isSecure(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return protocol === "https:" || (protocol === "http:" && isLoopbackHost(hostname));
}

export function isLoopbackHost(hostname: string): boolean {
  return ["localhost", "127.0.0.1", "[::1]"].includes(hostname) || hostname.endsWith(".localhost");
}
