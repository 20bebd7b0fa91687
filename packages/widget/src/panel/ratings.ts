import type { PanelContext } from "../shared/types.ts";
import type { ToolsContext } from "../tools/main.ts";
import { post } from "./post.ts";
import type { SessionStore } from "./session-store.ts";

/**
 * Returns a function that stores a rating here and at the service. Ratings are sent one after the other, so that the last one is stored. If a
 * request fails, the reply's previous rating is shown again.
 */
export function createRatings(
  context: PanelContext,
  store: SessionStore,
  { show, onFailed }: { show(): void; onFailed(): void },
): ToolsContext["rate"] {
  const rate: ToolsContext["rate"] = async ({ id }, rating, reason = "") => {
    const { session, entries } = store.read();
    const entry = entries.find((each) => each.id === id);
    if (!entry) {
      return false;
    }
    store.put(session, { ...entry, rating, reason });
    show();
    const fields = { message_id: entry.messageId, rating, ...(reason && { reason }) };
    const isStored = await post(context, "rating", session, fields);
    if (isStored) {
      context.emit("rate", { rating, reason, text: entry.text });
    } else {
      store.put(session, entry);
      show();
      onFailed();
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
