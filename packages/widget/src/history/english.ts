import { SOURCES_ENGLISH } from "../sources/english.ts";

/** The texts of the list of past conversations. */
export const HISTORY_ENGLISH = {
  loading: "Loading…",
  loadingFailed: "This could not be loaded.",
  noConversations: "There are no past conversations yet.",
  conversations: "Conversations: {n}",
  moreConversations: "Show more conversations",
  messages: "Messages: {n}",
  olderMessages: "Show older messages",
  toChat: "Back to the chat",
  toConversations: "Back to past conversations",
  continue: "Continue this conversation",
  continued: "You continue an earlier conversation.",
  ...SOURCES_ENGLISH,
} as const;
