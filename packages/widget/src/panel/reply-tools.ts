import type { Tools, ToolsContext } from "../tools/main.ts";
import { type ChunkContext, loadChunk } from "./chunk.ts";
import { post } from "./post.ts";

/**
 * Returns a function that returns the code that complete replies need. Its first call loads the code, and then calls `show`; it returns undefined
 * until then. If loading fails, a later call with `isIdle` tries again. Without `isIdle`, each frame of a growing reply would try again.
 */
export function createToolsLoader(
  context: ChunkContext,
  panel: Pick<ToolsContext, "store" | "show" | "onTurnEnd">,
): (isIdle: boolean) => Tools | undefined {
  let tools: Tools | undefined;
  /** Also after the code was loaded, and without a launcher that can load it. */
  let isLoading = !context.load;
  let hasFailed = false;
  const start = async () => {
    try {
      // The build defines TOOLS: see globals.d.ts.
      const { mountTools } = await loadChunk<typeof import("../tools/main.ts")>(context, TOOLS);
      tools = await mountTools({ ...context, ...panel, post: (...request) => post(context, ...request) });
      panel.show();
    } catch (error) {
      console.warn("Parley:", error);
      hasFailed = true;
      isLoading = false;
    }
  };
  return (isIdle) => {
    if (!isLoading && (isIdle || !hasFailed)) {
      isLoading = true;
      void start();
    }
    return tools;
  };
}
