/** The next step that the CLI suggests for each stable error code of an admin service. */
export const NEXT_STEPS: Readonly<Record<string, string>> = {
  workspace_not_found: "list workspaces with parley workspace list",
  workspace_exists: "use another --id, or omit it",
  bot_not_found: "list bots with parley bot list --workspace W",
  slug_taken: "change the bot with parley bot update, or use another --slug",
  key_not_found: "list keys with parley key list --workspace W",
  pattern_not_found: "list patterns with parley moderation list --workspace W --bot S",
  patterns_too_large: "remove patterns with parley moderation remove; docs/moderation.md lists the limits",
  moderation_overloaded: "list the bot's patterns with parley moderation list, and try again in a few seconds",
  source_not_found: "list documents with parley knowledge list --workspace W --bot S",
  session_not_found: "list sessions with parley conversation list --workspace W",
  message_not_found: "take the message ID from the meta event or the session export",
  unavailable: "a service or database that it needs is unavailable: try again in a few seconds",
};
