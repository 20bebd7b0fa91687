import { DEMO } from "./demo.ts";

export type SummaryFacts = {
  edgeUrl: string;
  shopUrl: string;
  /** Undefined if the console does not run. */
  consoleUrl: string | undefined;
  publicKey: string;
  defaultModel: string;
  dataDir: string;
  /** The embedded database's directory. For root it is outside DATA_DIR. */
  databaseDir: string | undefined;
  hasSso: boolean;
  /** A new session ID for the curl example. */
  sessionId: string;
};

const PARLEY_COMMAND = "./parley";

/** Returns the addresses and example commands to print when everything is ready. */
export function summarize(facts: SummaryFacts): string {
  const { workspaceId } = DEMO;
  const body = JSON.stringify({
    public_key: facts.publicKey,
    session_id: facts.sessionId,
    message: "What is Parley?",
  });
  const model = facts.defaultModel.startsWith("builtin:")
    ? `${facts.defaultModel} (set OPENAI_API_KEY, OPENAI_BASE_URL or OLLAMA_HOST for another)`
    : facts.defaultModel;
  const isDatabaseOutside = facts.databaseDir !== undefined && !facts.databaseDir.startsWith(`${facts.dataDir}/`);
  const data = isDatabaseOutside ? `${facts.dataDir} (database: ${facts.databaseDir})` : facts.dataDir;
  const token = facts.hasSso ? [] : [`  ${PARLEY_COMMAND} token --workspace ${workspaceId} --role owner`];
  const signIn = facts.hasSso
    ? "sign in with your identity provider"
    : `one click signs you in to the workspace ${workspaceId}`;
  const ownersConsole =
    facts.consoleUrl === undefined
      ? "not started: set OIDC_CLIENT_ID and JWT_ROLE_CLAIM"
      : `${facts.consoleUrl} (${signIn})`;
  return `
Parley is ready.

  Address      ${facts.edgeUrl}
  Console      ${ownersConsole}
  Sample shop  ${facts.shopUrl} (a page on another origin, with the widget)
  Public key   ${facts.publicKey} (workspace ${workspaceId}, bot ${DEMO.botSlug}; pages on localhost and 127.0.0.1)
  Model        ${model}
  Data, logs   ${data}

Send a message:
  curl -N ${facts.edgeUrl}/api/chat/ -H 'Origin: ${facts.shopUrl}' -H 'Content-Type: application/json' \\
    -d '${body}'

Next commands:
  ${PARLEY_COMMAND} usage --workspace ${workspaceId}
  ${PARLEY_COMMAND} conversation list --workspace ${workspaceId}
${[...token, `  ${PARLEY_COMMAND} --help`].join("\n")}

Press Ctrl-C to stop Parley. The data is kept.
`;
}
