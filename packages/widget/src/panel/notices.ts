import type { Notice } from "../notices/main.ts";
import { type ChunkContext, loadChunk } from "./chunk.ts";

export interface Notices {
  /** Returns the notice of an error code or a state. Returns undefined while it is loading; `show` is called when it has loaded. */
  select(code: string): Notice | undefined;
  /** Loads the notice. Resolves to a general one if that fails; a later call tries again. */
  load(code: string): Promise<Notice>;
}

/** Matches the codes whose texts are among the panel's, because the chunk could not be loaded without a connection. */
const BUILT_IN = /^(stopped|offline|network|interrupted)$/;

/** The other notices are in the chunk `notices`, which the first of them loads. */
export function createNotices(context: ChunkContext, show: () => void): Notices {
  const { words } = context;
  let selectLoaded: ((code: string) => Notice) | undefined;
  let loading: Promise<void> | undefined;
  const start = async () => {
    try {
      // The build defines NOTICES: see globals.d.ts.
      const chunk = await loadChunk<typeof import("../notices/main.ts")>(context, NOTICES);
      selectLoaded = await chunk.mountNotices(context);
    } catch (error) {
      console.warn("Parley:", error);
      selectLoaded = () => ({ text: words.failed, canRetry: true });
      loading = undefined;
    }
    show();
  };
  const loadOnce = () => {
    loading ??= start();
    return loading;
  };
  const select = (code: string): Notice | undefined => {
    if (BUILT_IN.test(code)) {
      return { text: words[code as "network"], canRetry: true };
    }
    if (!selectLoaded) {
      void loadOnce();
    }
    return selectLoaded?.(code);
  };
  return {
    select,
    async load(code) {
      if (!BUILT_IN.test(code)) {
        await loadOnce();
      }
      // Loaded, or replaced by a general notice.
      return select(code) as Notice;
    },
  };
}
