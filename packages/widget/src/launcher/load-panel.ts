import type { HashedFile, PanelModule } from "../shared/types.ts";

let attempts = 0;

/**
 * Loads the panel. The preload carries the integrity hash, which `import()` has no place for, and leaves the checked
 * module where `import()` finds it; neither is a sink of trusted types, so no policy has to be allowed by the page.
 */
async function load([file, integrity]: HashedFile, base: string): Promise<PanelModule> {
  // A fragment makes it another module, so that a failure is not remembered, yet the same request.
  const url = `${base}widget/${file}${attempts++ ? `#${attempts}` : ""}`;
  const link = document.createElement("link");
  link.rel = "modulepreload";
  link.crossOrigin = "anonymous";
  link.integrity = integrity;
  link.href = url;
  const loaded = new Promise((resolve, reject) => {
    link.onload = resolve;
    link.onerror = reject;
  });
  document.head.append(link);
  try {
    await loaded;
  } finally {
    link.remove();
  }
  return import(url) as Promise<PanelModule>;
}

/** Loads the panel this launcher was built with; a page older than the last upgrade asks which one there is now. */
export async function loadPanel(base: string): Promise<PanelModule> {
  try {
    return await load(PANEL, base);
  } catch {
    const response = await fetch(`${base}widget/manifest.json`, { credentials: "omit", cache: "no-cache" });
    return load(((await response.json()) as { panel: HashedFile }).panel, base);
  }
}
