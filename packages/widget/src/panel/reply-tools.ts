import type { Tools, ToolsContext } from "../tools/main.ts";
import { type ChunkContext, loadChunk } from "./chunk.ts";
import { post } from "./post.ts";

/**
 * Returns a function that returns the code that complete replies need. Its first call loads the code, and then calls `show`; it returns undefined
 * until then. If loading fails, a later call with `isIdle` tries again. Without `isIdle`, each frame of a growing reply would try again.
 */
export function createToolsLoader(
  context: ChunkContext,
  { store, show }: Pick<ToolsContext, "store" | "show">,
): (isIdle: boolean) => Tools | undefined {
  let tools: Tools | undefined;
  let isLoading = false;
  let hasFailed = false;
  const start = async () => {
    try {
      // The build defines TOOLS: see globals.d.ts.
      const { mountTools } = await loadChunk<typeof import("../tools/main.ts")>(context, TOOLS);
      tools = await mountTools({ ...context, store, show, post: (...request) => post(context, ...request) });
      show();
    } catch (error) {
      console.warn("Parley:", error);
      hasFailed = true;
    }
    isLoading = false;
  };
  return (isIdle) => {
    if (context.load && !tools && !isLoading && (isIdle || !hasFailed)) {
      isLoading = true;
      void start();
    }
    return tools;
  };
}
