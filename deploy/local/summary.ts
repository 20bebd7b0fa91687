import { DEMO } from "./demo.ts";

export type SummaryFacts = {
  edgeUrl: string;
  shopUrl: string;
  publicKey: string;
  defaultModel: string;
  dataDir: string;
  /** The embedded database's own directory; run by root it lies elsewhere. */
  databaseDir: string | undefined;
  hasSso: boolean;
  /** For the example; made anew each time. */
  sessionId: string;
};

const PARLEY = "./parley";

/** Everything to go on with, once all is ready. */
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
  const elsewhere = facts.databaseDir !== undefined && !facts.databaseDir.startsWith(`${facts.dataDir}/`);
  const data = elsewhere ? `${facts.dataDir}, and the database's in ${facts.databaseDir}` : facts.dataDir;
  const token = facts.hasSso ? [] : [`  ${PARLEY} token --workspace ${workspaceId}`];
  return `
Parley is ready.

  Address      ${facts.edgeUrl}
  Sample shop  ${facts.shopUrl} (a page on another origin, with the widget)
  Public key   ${facts.publicKey} (workspace ${workspaceId}, bot ${DEMO.botSlug}; pages on localhost and 127.0.0.1)
  Model        ${model}
  Data, logs   ${data}

Talk to it:
  curl -N ${facts.edgeUrl}/api/chat/ -H 'Origin: ${facts.shopUrl}' -H 'Content-Type: application/json' \\
    -d '${body}'

Go on with:
  ${PARLEY} usage --workspace ${workspaceId}
  ${PARLEY} conversation list --workspace ${workspaceId}
${[...token, `  ${PARLEY} --help`].join("\n")}

Ctrl-C stops it and keeps the data.
`;
}
