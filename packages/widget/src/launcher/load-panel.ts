import type { HashedFile, PanelModule } from "../shared/types.ts";
import type { Options } from "./options.ts";

const TIMEOUT_MS = 10_000;

let loadCount = 0;

/**
 * Loads a module of the widget. `import()` has no integrity option, so a modulepreload link with the hash loads and checks the
 * module first; `import()` then uses the loaded module. Neither the link nor `import()` needs a trusted-types policy. Safari
 * before 17 has no modulepreload, and no trusted types: there a script element loads the module.
 */
export async function loadModule([file, integrity]: HashedFile, { base, nonce }: Options): Promise<unknown> {
  // The browser caches a failed module by its URL. A new fragment changes the URL, but not the request.
  const url = `${base}widget/${file}${loadCount++ ? `#${loadCount}` : ""}`;
  const canPreload = document.createElement("link").relList.supports("modulepreload");
  const loader = Object.assign(
    document.createElement(canPreload ? "link" : "script"),
    { crossOrigin: "anonymous", integrity, nonce },
    canPreload ? { rel: "modulepreload", href: url } : { type: "module", src: url },
  );
  const loaded = new Promise((resolve, reject) => {
    loader.onload = resolve;
    loader.onerror = reject;
  });
  document.head.append(loader);
  try {
    await loaded;
  } finally {
    loader.remove();
  }
  return import(url);
}

/**
 * Loads the panel that this launcher was built with. If that fails, loads the panel that the server's manifest names:
 * after an upgrade, a page that was already open asks for a file that no longer exists.
 */
export async function loadPanel(options: Options): Promise<PanelModule> {
  try {
    return (await loadModule(PANEL, options)) as PanelModule;
  } catch {
    const { modules } = await fetchManifest(options.base);
    return (await loadModule(modules.panel, options)) as PanelModule;
  }
}

type Manifest = {
  modules: { panel: HashedFile };
  /** The notice that the panel could not be loaded, by language. */
  loadErrors: Readonly<Record<string, string>>;
};

/** Fetches what the server serves now, which may be newer than this launcher. */
export async function fetchManifest(base: string): Promise<Manifest> {
  const response = await fetch(`${base}widget/manifest.json`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  return (await response.json()) as Manifest;
}
