import type { ChunkContext } from "../panel/chunk.ts";
import type { SessionStore } from "../panel/session-store.ts";
import type { Words } from "../panel/words.ts";
import type { HANDOFF_ENGLISH } from "./english.ts";

export type HandoffWords = Words & Readonly<Record<keyof typeof HANDOFF_ENGLISH, string>>;

/** What showing a person needs of the panel. */
export interface HandoffContext extends ChunkContext {
  readonly store: SessionStore;
  /** Shows the session again, after a change. */
  show(): void;
  /** Announces a complete reply, or counts it as unread. */
  onTurnEnd(replyId: string): void;
}
