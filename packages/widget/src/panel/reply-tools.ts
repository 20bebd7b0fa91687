import type { PanelContext } from "../shared/types.ts";
import type { Tools, ToolsContext } from "../tools/main.ts";
import { post } from "./post.ts";

type LoaderContext = Omit<ToolsContext, "shadow" | "post" | "emit">;

/**
 * Returns a function that returns the code that complete replies need. Its first call loads the code, and then calls `show`; it returns undefined
 * until then. If loading fails, a later call tries again.
 */
export function createToolsLoader(panel: PanelContext, context: LoaderContext): () => Tools | undefined {
  const { root, load, emit } = panel;
  let tools: Tools | undefined;
  let isLoading = false;
  const start = async (loadModule: NonNullable<typeof load>) => {
    try {
      // The build defines TOOLS: see globals.d.ts.
      const { mountTools } = (await loadModule(TOOLS)) as typeof import("../tools/main.ts");
      tools = mountTools({
        ...context,
        shadow: root.getRootNode() as ShadowRoot,
        post: (...request) => post(panel, ...request),
        emit,
      });
      context.show();
    } catch (error) {
      console.warn("Parley:", error);
    }
    isLoading = false;
  };
  return () => {
    if (load && !tools && !isLoading) {
      isLoading = true;
      void start(load);
    }
    return tools;
  };
}
