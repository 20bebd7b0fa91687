import type { HashedFile, PanelModule } from "../shared/types.ts";
import type { Options } from "./options.ts";

let attempts = 0;

/**
 * Loads the panel. The preload carries the integrity hash, which `import()` has no place for, and leaves the checked
 * module where `import()` finds it; neither is a sink of trusted types, so no policy has to be allowed by the page.
 */
async function load([file, integrity]: HashedFile, { base, nonce }: Options): Promise<PanelModule> {
  // A fragment makes it another module, so that a failure is not remembered, yet the same request.
  const url = `${base}widget/${file}${attempts++ ? `#${attempts}` : ""}`;
  const link = document.createElement("link");
  link.rel = "modulepreload";
  link.crossOrigin = "anonymous";
  link.integrity = integrity;
  link.nonce = nonce;
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
export async function loadPanel(options: Options): Promise<PanelModule> {
  try {
    return await load(PANEL, options);
  } catch {
    const response = await fetch(`${options.base}widget/manifest.json`, { credentials: "omit", cache: "no-cache" });
    return load(((await response.json()) as { panel: HashedFile }).panel, options);
  }
}
