import type { HandoffContext } from "../handoff/context.ts";
import type { Handoff } from "../handoff/main.ts";
import { findHandoff } from "../handoff/messages.ts";
import { loadChunk } from "../panel/chunk.ts";

/** Loads the chunk `handoff` when visitors may ask for a person, or when a person has the session. If that fails, a later change of the entries tries again. */
export function createHandoffLoader(context: HandoffContext): Handoff {
  let handoff: Handoff | undefined;
  let isLoading = false;
  const start = async () => {
    isLoading = true;
    try {
      // The build defines HANDOFF: see globals.d.ts.
      const { mountHandoff } = await loadChunk<typeof import("../handoff/main.ts")>(context, HANDOFF);
      handoff = await mountHandoff(context);
      handoff.update();
    } catch (error) {
      console.warn("Parley:", error);
    }
    isLoading = false;
  };
  return {
    update() {
      const { entries } = context.store.read();
      if (handoff) {
        handoff.update();
      } else if (!isLoading && entries.length > 0 && (context.bot.handoff || findHandoff(entries))) {
        void start();
      }
    },
    follow: () => handoff?.follow(),
  };
}
