import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { build, type Plugin, stop, transform } from "esbuild";
import { minify } from "terser";
import type { Manifest, ManifestFile } from "./src/assets.ts";
import { GATE_ENGLISH } from "./src/gate/english.ts";
import { HANDOFF_ENGLISH } from "./src/handoff/english.ts";
import { HISTORY_ENGLISH } from "./src/history/english.ts";
import { NOTICES_ENGLISH } from "./src/notices/english.ts";
import { PANEL_ENGLISH } from "./src/panel/english.ts";
import { PLAYGROUND_ENGLISH, SHARED_ENGLISH } from "./src/playground/english.ts";
import type { HashedFile } from "./src/shared/hashed-file.ts";
import { TOOLS_ENGLISH } from "./src/tools/english.ts";

const SOURCE = join(import.meta.dirname, "src");

// Versions with every API that the widget uses. docs/embed.md names them, and tests/browser/old-browsers.extended.browser.test.ts removes all newer APIs.
const BROWSERS = ["chrome109", "firefox115", "safari16.4"];

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
};

/** Imports CSS as text for constructed style sheets, because a strict content security policy blocks style elements. */
const cssAsText: Plugin = {
  name: "css-as-text",
  setup(bundler) {
    bundler.onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const css = await readFile(path, "utf8");
      const { code } = await transform(css, { loader: "css", minify: true, target: BROWSERS });
      return { contents: code.trim(), loader: "text" };
    });
  },
};

async function bundle(entry: string, format: "iife" | "esm", define: Record<string, unknown>): Promise<Buffer> {
  const { outputFiles } = await build({
    entryPoints: [join(SOURCE, entry)],
    bundle: true,
    minify: true,
    write: false,
    format,
    target: BROWSERS,
    charset: "utf8",
    legalComments: "none",
    plugins: [cssAsText],
    define: Object.fromEntries(Object.entries(define).map(([name, value]) => [name, JSON.stringify(value)])),
  });
  const { text } = outputFiles[0] as { text: string };
  // Makes the bundle 3 % smaller than esbuild does alone.
  const { code } = await minify(text, { module: format === "esm", ecma: 2020, compress: { passes: 3 } });
  return Buffer.from(code as string);
}

/** Writes the built files with their compressed variants and collects their manifest entries. */
class Output {
  readonly files: Record<string, ManifestFile> = {};
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Writes a file under the given name. */
  async write(file: string, bytes: Buffer): Promise<void> {
    const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } };
    const [br, gz] = await Promise.all([
      promisify(brotliCompress)(bytes, quality),
      promisify(gzip)(bytes, { level: 9 }),
    ]);
    this.files[file] = {
      contentType: CONTENT_TYPES[extname(file)] ?? "application/octet-stream",
      integrity: computeIntegrity(bytes),
      bytes: bytes.length,
      gzipBytes: gz.length,
    };
    const path = join(this.#directory, file);
    await Promise.all([writeFile(path, bytes), writeFile(`${path}.br`, br), writeFile(`${path}.gz`, gz)]);
  }

  /** Writes a file with its hash in the name, so that it can be cached without revalidation. */
  async writeHashed(name: string, bytes: Buffer): Promise<HashedFile> {
    const extension = extname(name);
    const file = `${name.slice(0, -extension.length)}.${computeHash(bytes)}${extension}`;
    await this.write(file, bytes);
    return [file, computeIntegrity(bytes)];
  }
}

function computeHash(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex").slice(0, 10);
}

function computeIntegrity(bytes: Buffer): string {
  return `sha256-${createHash("sha256").update(bytes).digest("base64")}`;
}

/** Builds the widget and the playground into a directory, after emptying it. */
export async function buildWidget(directory: string): Promise<Manifest> {
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  const output = new Output(directory);

  const texts = await readTexts("lang");
  const handoff = await buildChunk(output, "handoff", selectTexts(texts, HANDOFF_ENGLISH));
  const tools = await buildChunk(output, "tools", selectTexts(texts, TOOLS_ENGLISH), { HANDOFF: handoff });
  const gate = await buildChunk(output, "gate", selectTexts(texts, GATE_ENGLISH));
  const notices = await buildChunk(output, "notices", selectTexts(texts, NOTICES_ENGLISH));
  const history = await buildChunk(output, "history", selectTexts(texts, HISTORY_ENGLISH));
  const panelScript = await bundle("panel/main.ts", "esm", {
    LANGUAGES: await writeTexts(output, selectTexts(texts, PANEL_ENGLISH)),
    TOOLS: tools,
    GATE: gate,
    NOTICES: notices,
    HISTORY: history,
  });
  const panel = await output.writeHashed("panel.js", panelScript);
  // Many languages have the English word.
  const labels = Object.entries(textsByLanguage(texts, "chat")).filter(([, label]) => label !== "Chat");
  const launcher = { PANEL: panel, LABELS: Object.fromEntries(labels) };
  await output.write("widget.js", await bundle("launcher/main.ts", "iife", launcher));

  await buildPlayground(output, selectTexts(texts, SHARED_ENGLISH));

  const manifest: Manifest = {
    modules: { panel, tools, gate, notices, history, handoff },
    loadErrors: textsByLanguage(texts, "loadFailed"),
    files: { ...output.files },
  };
  await output.write("manifest.json", Buffer.from(JSON.stringify(manifest)));
  // Ends esbuild's child process.
  await stop();
  return manifest;
}

type Texts = Readonly<Record<string, string>>;

async function readTexts(folder: string): Promise<Map<string, Texts>> {
  const names = (await readdir(join(SOURCE, folder))).toSorted();
  const texts = names.map(async (name) => {
    const words = JSON.parse(await readFile(join(SOURCE, folder, name), "utf8")) as Texts;
    return [name.replace(".json", ""), words] as const;
  });
  return new Map(await Promise.all(texts));
}

/**
 * Writes one file of texts for each language, and returns the value of LANGUAGES. The files' names share one hash: the panel contains it, and
 * would be larger with one hash per language.
 */
async function writeTexts(output: Output, texts: ReadonlyMap<string, Texts>, prefix = "") {
  const files = [...texts].map(([language, words]) => [language, Buffer.from(JSON.stringify(words))] as const);
  const version = `${prefix}${computeHash(Buffer.concat(files.map(([, bytes]) => bytes)))}`;
  await Promise.all(files.map(([language, bytes]) => output.write(`${language}.${version}.json`, bytes)));
  return [version, [...texts.keys()]] as const;
}

/** Returns the texts that have the keys of `english`. */
function selectTexts(all: ReadonlyMap<string, Texts>, english: Texts): Map<string, Texts> {
  const select = (texts: Texts) => Object.fromEntries(Object.keys(english).map((key) => [key, texts[key] ?? ""]));
  return new Map([...all].map(([language, texts]) => [language, select(texts)]));
}

function textsByLanguage(all: ReadonlyMap<string, Texts>, key: "chat" | "loadFailed"): Record<string, string> {
  return Object.fromEntries([...all].map(([language, texts]) => [language, texts[key] ?? ""]));
}

/** Builds a file that the panel loads when it is first needed, and its texts. `files` are the files that it loads itself. */
async function buildChunk(
  output: Output,
  name: string,
  texts: ReadonlyMap<string, Texts>,
  files: Readonly<Record<string, HashedFile>> = {},
): Promise<HashedFile> {
  const languages = await writeTexts(output, texts, `${name}.`);
  return output.writeHashed(`${name}.js`, await bundle(`${name}/main.ts`, "esm", { LANGUAGES: languages, ...files }));
}

async function buildPlayground(output: Output, shared: ReadonlyMap<string, Texts>): Promise<void> {
  const own = await readTexts("playground/lang");
  const texts = new Map([...own].map(([language, each]) => [language, { ...shared.get(language), ...each }]));
  const languages = await writeTexts(output, texts, "playground.");
  const css = await transform(await readFile(join(SOURCE, "playground/playground.css"), "utf8"), {
    loader: "css",
    minify: true,
    target: BROWSERS,
  });
  const [styleFile, styleIntegrity] = await output.writeHashed("playground.css", Buffer.from(css.code));
  const script = await bundle("playground/main.ts", "esm", { LANGUAGES: languages });
  const [scriptFile, scriptIntegrity] = await output.writeHashed("playground.js", script);
  const page = await readFile(join(SOURCE, "playground/playground.html"), "utf8");
  const html = page
    .replace("{{style}}", `/widget/${styleFile}`)
    .replace("{{style integrity}}", styleIntegrity)
    .replace("{{script}}", `/widget/${scriptFile}`)
    .replace("{{script integrity}}", scriptIntegrity)
    .replace(/\{\{(\w+)\}\}/g, (_, key: keyof typeof PLAYGROUND_ENGLISH) => PLAYGROUND_ENGLISH[key]);
  await output.write("playground.html", Buffer.from(html));
}

if (import.meta.main) {
  const { files } = await buildWidget(join(import.meta.dirname, "dist"));
  console.table(files, ["bytes", "gzipBytes"]);
}
