/** What to do about an admin service's refusal, by its stable code. */
export const NEXT_STEPS: Readonly<Record<string, string>> = {
  workspace_not_found: "parley workspace list shows those there are",
  workspace_exists: "give another --id, or none",
  bot_not_found: "parley bot list --workspace W shows those there are",
  slug_taken: "parley bot update changes it, another --slug makes a second one",
  key_not_found: "parley key list --workspace W shows those there are",
  pattern_not_found: "parley moderation list --workspace W --bot S shows those there are",
  patterns_too_large: "parley moderation remove makes room; docs/moderation.md explains the limits",
  moderation_overloaded: "the bot's patterns are slow: parley moderation list shows them; try again in some seconds",
  source_not_found: "parley knowledge list --workspace W --bot S shows those there are",
  session_not_found: "parley conversation list --workspace W shows those there are",
  message_not_found: "the meta event and the export of its conversation name the ids of messages",
  unavailable: "a service it needs is away: try again in some seconds",
};
