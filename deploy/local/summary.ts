import { DEMO } from "./demo.ts";

export type SummaryFacts = {
  edgeUrl: string;
  shopUrl: string;
  publicKey: string;
  defaultModel: string;
  dataDir: string;
  /** The embedded database's directory. For root it is outside DATA_DIR. */
  databaseDir: string | undefined;
  hasSso: boolean;
  /** A new session ID for the curl example. */
  sessionId: string;
};

const PARLEY = "./parley";

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
  const token = facts.hasSso ? [] : [`  ${PARLEY} token --workspace ${workspaceId}`];
  return `
Parley is ready.

  Address      ${facts.edgeUrl}
  Sample shop  ${facts.shopUrl} (a page on another origin, with the widget)
  Public key   ${facts.publicKey} (workspace ${workspaceId}, bot ${DEMO.botSlug}; pages on localhost and 127.0.0.1)
  Model        ${model}
  Data, logs   ${data}

Send a message:
  curl -N ${facts.edgeUrl}/api/chat/ -H 'Origin: ${facts.shopUrl}' -H 'Content-Type: application/json' \\
    -d '${body}'

Next commands:
  ${PARLEY} usage --workspace ${workspaceId}
  ${PARLEY} conversation list --workspace ${workspaceId}
${[...token, `  ${PARLEY} --help`].join("\n")}

Press Ctrl-C to stop Parley. The data is kept.
`;
}
