import { readdir, readFile, writeFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import react from "@vitejs/plugin-react";
import { build, type Manifest, type Plugin } from "vite";
import { NONCE_PLACEHOLDER } from "./src/page/index.ts";

const PAGE = join(import.meta.dirname, "page");
const MANIFEST = "manifest.json";
/** The modules of the first screen that a signed-in owner sees, by their names in the manifest. */
const FIRST_SCREEN = ["index.html", "app.tsx", "screens/overview.tsx"];
const COMPRESSED_EXTENSIONS = new Set([".js", ".css", ".svg"]);

/** Limit for `firstLoadBytes`, which is measured after gzip. */
export const MAX_FIRST_LOAD_BYTES = 200_000;

/** Lets the browser fetch the modules of app.tsx while main.ts, which imports it, loads the catalogue of the user's language. */
const PRELOAD_APP: Plugin = {
  name: "preload-app",
  transformIndexHtml: {
    order: "post",
    handler(_, { filename, bundle = {} }) {
      const files = new Set<string>();
      const visit = (file: string) => {
        const chunk = bundle[file];
        if (chunk?.type !== "chunk" || files.has(file)) return;
        files.add(file);
        for (const imported of chunk.imports) visit(imported);
      };
      const app = Object.values(bundle).find((each) => each.type === "chunk" && each.name === "app");
      if (app && filename.endsWith("index.html")) visit(app.fileName);
      return [...files].map((file) => ({
        tag: "link",
        attrs: { rel: "modulepreload", crossorigin: true, href: `/${file}` },
        injectTo: "head",
      }));
    },
  },
};

export type ConsoleBuild = {
  firstLoadBytes: number;
};

/**
 * Builds the page into `directory`, which it empties first. By default, compresses with Brotli's best quality, which takes more time than all
 * other steps together.
 */
export async function buildConsole(
  directory: string,
  { brotliQuality = constants.BROTLI_MAX_QUALITY }: { brotliQuality?: number } = {},
): Promise<ConsoleBuild> {
  await withProductionEnv(() => buildPage(directory));
  await compress(join(directory, "assets"), brotliQuality);
  return { firstLoadBytes: await measureFirstLoad(directory) };
}

/** Vite includes React's development build unless NODE_ENV is `production`. Vitest sets it to `test`, and a test file that runs later needs that. */
async function withProductionEnv(work: () => Promise<void>): Promise<void> {
  const { env } = process;
  const previous = env.NODE_ENV;
  env.NODE_ENV = "production";
  try {
    await work();
  } finally {
    if (previous === undefined) delete env.NODE_ENV;
    else env.NODE_ENV = previous;
  }
}

async function buildPage(directory: string): Promise<void> {
  await build({
    root: PAGE,
    configFile: false,
    logLevel: "warn",
    plugins: [react(), PRELOAD_APP],
    html: { cspNonce: NONCE_PLACEHOLDER },
    build: {
      outDir: directory,
      emptyOutDir: true,
      manifest: MANIFEST,
      // Assets that Vite inlines as data: URLs would need an exception in the content security policy.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      rolldownOptions: {
        input: ["index.html", "preview.html"].map((name) => join(PAGE, name)),
        // Puts the generated clients and their libraries into one chunk. Split by screen, they compress worse.
        output: { codeSplitting: { groups: [{ name: "rpc", test: /packages\/rpc|@bufbuild|@connectrpc/ }] } },
        // Otherwise, on a busy machine, the build warns that its plugins are slow.
        checks: { pluginTimings: false },
      },
    },
  });
}

async function compress(directory: string, brotliQuality: number): Promise<void> {
  const names = (await readdir(directory)).filter((name) => COMPRESSED_EXTENSIONS.has(extname(name)));
  await Promise.all(
    names.map(async (name) => {
      const path = join(directory, name);
      const bytes = await readFile(path);
      const params = { [constants.BROTLI_PARAM_QUALITY]: brotliQuality };
      const [gz, br] = await Promise.all([
        promisify(gzip)(bytes, { level: 9 }),
        promisify(brotliCompress)(bytes, { params }),
      ]);
      await Promise.all([writeFile(`${path}.gz`, gz), writeFile(`${path}.br`, br)]);
    }),
  );
}

/** Returns the size after gzip of index.html and of the first screen's modules with their static imports. */
async function measureFirstLoad(directory: string): Promise<number> {
  const manifest = JSON.parse(await readFile(join(directory, MANIFEST), "utf8")) as Manifest;
  const files = new Set(["index.html"]);
  const visit = (name: string) => {
    const chunk = manifest[name];
    if (chunk === undefined || files.has(chunk.file)) return;
    for (const file of [chunk.file, ...(chunk.css ?? [])]) files.add(file);
    for (const imported of chunk.imports ?? []) visit(imported);
  };
  for (const name of FIRST_SCREEN) visit(name);
  const sizes = [...files].map(async (file) => (await promisify(gzip)(await readFile(join(directory, file)))).length);
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

if (import.meta.main) {
  const { firstLoadBytes } = await buildConsole(join(import.meta.dirname, "dist"));
  const isTooLarge = firstLoadBytes > MAX_FIRST_LOAD_BYTES;
  console.log(`first load ${firstLoadBytes} of ${MAX_FIRST_LOAD_BYTES} bytes gzip${isTooLarge ? ": too large" : ""}`);
  process.exitCode = isTooLarge ? 1 : 0;
}
