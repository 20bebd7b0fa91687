import type { PanelContext } from "../shared/types.ts";
import type { Tools, ToolsContext } from "../tools/main.ts";

type LoaderContext = Omit<ToolsContext, "shadow" | "onCopied"> & {
  /** Called when the code has loaded. */
  onLoaded(): void;
};

/**
 * Returns a function that returns the code that complete replies need. Its first call loads the code, and it returns undefined until then. If
 * loading fails, a later call tries again.
 */
export function createToolsLoader(
  { root, load, emit }: PanelContext,
  { onLoaded, ...context }: LoaderContext,
): () => Tools | undefined {
  let tools: Tools | undefined;
  let isLoading = false;
  const start = async (loadModule: NonNullable<typeof load>) => {
    try {
      // The build defines TOOLS: see globals.d.ts.
      const { mountTools } = (await loadModule(TOOLS)) as typeof import("../tools/main.ts");
      tools = mountTools({
        ...context,
        shadow: root.getRootNode() as ShadowRoot,
        onCopied: (text) => emit("copy", { text }),
      });
      onLoaded();
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
