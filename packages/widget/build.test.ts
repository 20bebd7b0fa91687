import { readdirSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildWidget } from "./build.ts";
import { LIMITS_BYTES, measureSizes } from "./size.ts";
import { GATE_ENGLISH } from "./src/gate/english.ts";
import { HANDOFF_ENGLISH } from "./src/handoff/english.ts";
import { HISTORY_ENGLISH } from "./src/history/english.ts";
import { type Asset, loadAssets, type Manifest, pickEncoding } from "./src/index.ts";
import { NOTICES_ENGLISH } from "./src/notices/english.ts";
import { PANEL_ENGLISH } from "./src/panel/english.ts";
import { PLAYGROUND_ENGLISH } from "./src/playground/english.ts";
import { TOOLS_ENGLISH } from "./src/tools/english.ts";

/** The English texts by the part of a language file's name after the language. */
const ENGLISH_BY_NAME: Readonly<Record<string, object>> = {
  playground: PLAYGROUND_ENGLISH,
  tools: TOOLS_ENGLISH,
  gate: GATE_ENGLISH,
  notices: NOTICES_ENGLISH,
  history: HISTORY_ENGLISH,
  handoff: HANDOFF_ENGLISH,
};

let directory: string;
let manifest: Manifest;
let assets: ReadonlyMap<string, Asset>;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "parley-widget-"));
  manifest = await buildWidget(directory);
  assets = await loadAssets(directory);
});

afterAll(async () => {
  await rm(directory, { recursive: true });
});

const assetAt = (path: string): Asset => {
  const asset = assets.get(path);
  if (!asset) {
    throw new Error(`no asset at ${path}`);
  }
  return asset;
};

describe("buildWidget", () => {
  it("after gzip, the launcher has at most 4 KB; launcher, panel and largest language file together have at most 20 KB; a chunk has at most 6 KB", () => {
    const { launcher, total, chunks } = measureSizes(manifest);
    expect([...chunks.keys()]).toEqual(["tools", "gate", "notices", "history", "handoff"]);
    for (const bytes of chunks.values()) expect(bytes).toBeLessThanOrEqual(LIMITS_BYTES.chunk);
    expect(launcher).toBeLessThanOrEqual(LIMITS_BYTES.launcher);
    expect(total).toBeLessThanOrEqual(LIMITS_BYTES.total);
  });

  // A second build takes as long as the first, so only `pnpm test:full` makes it.
  it.runIf(process.env.PARLEY_TEST_FULL === "1")("builds the same files from the same source", async () => {
    const again = await mkdtemp(join(tmpdir(), "parley-widget-"));
    expect(await buildWidget(again)).toEqual(manifest);
    await rm(again, { recursive: true });
  });

  it("writes the panel's file name and integrity into the launcher and the manifest", () => {
    const [file, integrity] = manifest.modules.panel ?? [""];
    const launcher = assetAt("/widget.js").bodies.identity.toString();
    expect(launcher).toContain(file);
    expect(launcher).toContain(integrity);
    expect(manifest.files[file]?.integrity).toBe(integrity);
  });

  it("builds no code that a strict Content-Security-Policy blocks", () => {
    for (const file of ["widget.js", ...Object.values(manifest.modules).map(([each]) => `widget/${each}`)]) {
      const code = assetAt(`/${file}`).bodies.identity.toString();
      expect(code).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|<style/);
    }
  });

  it("writes a load error for each language into the manifest, and the launcher's texts into no file of the panel", () => {
    const languages = readdirSync(join(import.meta.dirname, "src/lang")).map((file) => file.replace(".json", ""));
    expect(Object.keys(manifest.loadErrors)).toEqual(languages);
    for (const text of Object.values(manifest.loadErrors)) expect(text).toMatch(/\S/);
    for (const file of Object.keys(manifest.files).filter((each) => each.endsWith(".json"))) {
      const english = ENGLISH_BY_NAME[file.split(".")[1] ?? ""] ?? PANEL_ENGLISH;
      expect(Object.keys(JSON.parse(assetAt(`/widget/${file}`).bodies.identity.toString())), file).toEqual(
        Object.keys(english),
      );
    }
  });

  it("builds a playground page whose integrity attributes match the files that it loads", async () => {
    const page = await readFile(join(directory, "playground.html"), "utf8");
    const references = [...page.matchAll(/(?:src|href)="\/widget\/([^"]+)" integrity="([^"]+)"/g)];
    expect(references).toHaveLength(2);
    for (const [, file = "", integrity] of references) {
      expect(manifest.files[file]?.integrity).toBe(integrity);
    }
    expect(page).toContain(PLAYGROUND_ENGLISH.intro);
    expect(page).not.toContain("{{");
  });
});

describe("loadAssets", () => {
  it("returns the same bytes in every encoding", () => {
    for (const { bodies } of assets.values()) {
      expect(brotliDecompressSync(bodies.br)).toEqual(bodies.identity);
      expect(gunzipSync(bodies.gzip)).toEqual(bodies.identity);
    }
  });

  it("lets browsers cache the launcher for 5 minutes, cache hashed files as immutable, and revalidate the rest", () => {
    const cacheControl = (path: string) => assetAt(path).headers["cache-control"];
    expect(cacheControl("/widget.js")).toBe("public, max-age=300, stale-while-revalidate=86400");
    expect(cacheControl(`/widget/${manifest.modules.panel?.[0]}`)).toContain("immutable");
    expect(cacheControl("/widget/manifest.json")).toBe("no-cache");
    expect(cacheControl("/playground")).toBe("no-cache");
  });

  it("gives each encoding of an asset its own ETag", () => {
    for (const [path, { etags }] of assets) {
      for (const etag of Object.values(etags)) expect(etag, path).toMatch(/^"[\w-]{22}"$/);
      expect(new Set(Object.values(etags)).size, path).toBe(3);
    }
  });

  it("allows every origin to load the assets except the playground page, which requires trusted types", () => {
    for (const [path, { headers }] of assets) {
      expect(headers["access-control-allow-origin"], path).toBe(path === "/playground" ? undefined : "*");
    }
    expect(assetAt("/playground").headers["content-security-policy"]).toContain("require-trusted-types-for 'script'");
  });

  it("sets the content types of JavaScript, HTML and JSON, with the charset utf-8", () => {
    expect(assetAt("/widget.js").headers["content-type"]).toBe("text/javascript; charset=utf-8");
    expect(assetAt("/playground").headers["content-type"]).toBe("text/html; charset=utf-8");
    expect(assetAt("/widget/manifest.json").headers["content-type"]).toBe("application/json; charset=utf-8");
  });

  it("rejects when the directory contains no build", async () => {
    await expect(loadAssets(join(directory, "missing"))).rejects.toThrow("ENOENT");
  });
});

describe("pickEncoding", () => {
  it.each([
    ["gzip, deflate, br, zstd", "br"],
    ["gzip;q=1.0, br;q=0", "gzip"],
    ["GZIP", "gzip"],
    ["br;q=0.5", "br"],
    ["identity", "identity"],
    ["gzip;q=0.0", "identity"],
    ["", "identity"],
    [undefined, "identity"],
  ] as const)("returns for %s the encoding %s", (header, encoding) => {
    expect(pickEncoding(header)).toBe(encoding);
  });

  it("returns only an encoding from the given list, or identity", () => {
    expect(pickEncoding("br, gzip", ["gzip"])).toBe("gzip");
    expect(pickEncoding("br", ["gzip"])).toBe("identity");
  });
});
