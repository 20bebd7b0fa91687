import type { SessionStore } from "../panel/session-store.ts";
import type { Words } from "../panel/words.ts";
import type { PanelContext } from "../shared/types.ts";
import type { TOOLS_ENGLISH } from "./english.ts";

export type ToolsWords = Words & Readonly<Record<keyof typeof TOOLS_ENGLISH, string>>;

/** What rating a reply needs of the panel. */
export interface RatingContext {
  readonly words: ToolsWords;
  /** The session, with the ratings. */
  readonly store: Pick<SessionStore, "read" | "put">;
  readonly emit: PanelContext["emit"];
  /** Announces a text to screen readers. */
  announce(text: string): void;
  /** Shows the session again, after a change. */
  show(): void;
  /** Sends a rating to the service. Resolves to whether the service accepted it. */
  post(path: "rating", session: string, fields: Readonly<Record<string, unknown>>): Promise<boolean>;
}

/** Stores a rating of a reply; `""` removes it. Resolves to whether the service accepted it. */
export type Rate = (entry: { readonly id: string }, rating: "up" | "down" | "", reason?: string) => Promise<boolean>;

/**
 * Returns a function that stores a rating here and at the service. Ratings are sent one after the other, so that the last one is stored. If a
 * request fails, the reply's previous rating is shown again.
 */
export function createRatings({ store, show, post, emit, announce, words }: RatingContext): Rate {
  const rate: Rate = async ({ id }, rating, reason = "") => {
    const { session, entries } = store.read();
    const entry = entries.find((each) => each.id === id);
    if (!entry) {
      return false;
    }
    store.put(session, { ...entry, rating, reason });
    show();
    const fields = { message_id: entry.messageId, rating, ...(reason && { reason }) };
    const isStored = await post("rating", session, fields);
    if (isStored) {
      emit("rate", { rating, reason, text: entry.text });
    } else {
      store.put(session, entry);
      show();
      announce(words.ratingFailed);
    }
    return isStored;
  };
  let last: Promise<unknown> = Promise.resolve();
  return (...rating) => {
    const result = last.then(() => rate(...rating));
    last = result;
    return result;
  };
}
