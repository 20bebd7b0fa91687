import type { ChunkContext } from "../panel/chunk.ts";
import type { createMessageView } from "../panel/message.ts";
import type { Notices } from "../panel/notices.ts";
import type { Entry, SessionStore } from "../panel/session-store.ts";
import type { Words } from "../panel/words.ts";
import type { HISTORY_ENGLISH } from "./english.ts";

export type HistoryWords = Words & Readonly<Record<keyof typeof HISTORY_ENGLISH, string>>;

/** What the past conversations need of the panel. */
export interface HistoryContext extends ChunkContext {
  /** The button that opens the past conversations. It gets the focus when they are closed. */
  readonly opener: HTMLElement;
  readonly store: Pick<SessionStore, "read">;
  readonly createMessageView: typeof createMessageView;
  readonly notices: Notices;
  /** Asks the page for the visitor's token. */
  readToken(signal: AbortSignal): Promise<string | undefined>;
  /** Makes the session the current one, with these entries. */
  continueSession(session: string, entries: readonly Entry[]): void;
  /** Called when the chat is shown again. */
  onClosed(): void;
}
