import { DEMO } from "./demo.ts";

export type SummaryFacts = {
  edgeUrl: string;
  /** Whether other machines cannot connect to `edgeUrl`. */
  isLocalOnly: boolean;
  shopUrl: string;
  consoleUrl: string;
  /** If the list is not empty, the console does not run. */
  missingConsoleVariables: readonly string[];
  /** Undefined if the demo workspace is deleted. */
  publicKey: string | undefined;
  defaultModel: string;
  dataDir: string;
  /** Undefined if DATABASE_URL names the database. If root starts Parley, the directory may be in /var/lib/parley, outside `dataDir`. */
  databaseDir: string | undefined;
  hasIdentityProvider: boolean;
  /** For the curl example. */
  sessionId: string;
};

const PARLEY_COMMAND = "./parley";

/** Returns the addresses and example commands to print when everything is ready. */
export function summarize(facts: SummaryFacts): string {
  const model = facts.defaultModel.startsWith("builtin:")
    ? `${facts.defaultModel} (set OPENAI_API_KEY, OPENAI_BASE_URL or OLLAMA_HOST for another model)`
    : facts.defaultModel;
  const isDatabaseOutsideDataDir =
    facts.databaseDir !== undefined && !facts.databaseDir.startsWith(`${facts.dataDir}/`);
  const data = isDatabaseOutsideDataDir ? `${facts.dataDir} (database: ${facts.databaseDir})` : facts.dataDir;
  const consoleText =
    facts.missingConsoleVariables.length > 0
      ? `not started: set ${facts.missingConsoleVariables.join(" and ")}`
      : `${facts.consoleUrl} (${describeSignIn(facts)})`;
  return `
Parley is ready.

  Address      ${facts.edgeUrl}${facts.isLocalOnly ? " (only on this machine; PUBLIC_HOST=0.0.0.0 opens it to your network)" : ""}
  Console      ${consoleText}
${describeDemo(facts)}
  Model        ${model}
  Data, logs   ${data}
${facts.publicKey === undefined ? "" : describeCurlExample(facts, facts.publicKey)}
Next commands:
${listCommands(facts)
  .map((command) => `  ${PARLEY_COMMAND} ${command}\n`)
  .join("")}
Press Ctrl-C to stop Parley. The data is kept.
`;
}

function describeSignIn({ hasIdentityProvider, publicKey }: SummaryFacts): string {
  if (hasIdentityProvider) return "sign in with your identity provider";
  if (publicKey === undefined) return `its sign-in is for the deleted workspace ${DEMO.workspaceId}`;
  return `one click signs you in to the workspace ${DEMO.workspaceId}`;
}

function describeDemo({ publicKey, shopUrl }: SummaryFacts): string {
  const { workspaceId, botSlug } = DEMO;
  if (publicKey === undefined) return `  Sample shop  not started: the workspace ${workspaceId} is deleted`;
  return `  Sample shop  ${shopUrl} (a page with the widget, on its own origin)
  Public key   ${publicKey} (workspace ${workspaceId}, bot ${botSlug}; for pages on localhost and 127.0.0.1)`;
}

function describeCurlExample({ edgeUrl, shopUrl, sessionId }: SummaryFacts, publicKey: string): string {
  const body = JSON.stringify({ public_key: publicKey, session_id: sessionId, message: "What is Parley?" });
  return `
Send a message:
  curl -N ${edgeUrl}/api/chat/ -H 'Origin: ${shopUrl}' -H 'Content-Type: application/json' \\
    -d '${body}'
`;
}

function listCommands({ publicKey, hasIdentityProvider }: SummaryFacts): string[] {
  if (publicKey === undefined) return ["workspace list", "--help"];
  const option = `--workspace ${DEMO.workspaceId}`;
  const token = hasIdentityProvider ? [] : [`token ${option} --role owner`];
  return [`usage ${option}`, `conversation list ${option}`, ...token, "--help"];
}
