import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildWidget } from "./build.ts";
import { LIMITS, measure } from "./size.ts";
import { type Asset, loadAssets, type Manifest, pickEncoding } from "./src/index.ts";

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

const asset = (path: string): Asset => {
  const found = assets.get(path);
  if (!found) {
    throw new Error(`nothing is served at ${path}`);
  }
  return found;
};

describe("the build", () => {
  it("weighs at most 4 KB before it is opened and 15 KB in all", () => {
    const { launcher, total } = measure(manifest);
    expect(launcher).toBeLessThanOrEqual(LIMITS.launcher);
    expect(total).toBeLessThanOrEqual(LIMITS.total);
  });

  it("makes the same names and bytes of the same source", async () => {
    const again = await mkdtemp(join(tmpdir(), "parley-widget-"));
    expect(await buildWidget(again)).toEqual(manifest);
    await rm(again, { recursive: true });
  });

  it("puts the panel's name and hash into the launcher and into the manifest", () => {
    const [file, integrity] = manifest.panel;
    const launcher = asset("/widget.js").bodies.identity.toString();
    expect(launcher).toContain(file);
    expect(launcher).toContain(integrity);
    expect(manifest.files[file]?.integrity).toBe(integrity);
  });

  it("has nothing in it that a strict policy refuses", () => {
    for (const file of ["/widget.js", `/widget/${manifest.panel[0]}`]) {
      const code = asset(file).bodies.identity.toString();
      expect(code).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|<style/);
    }
  });
});

describe("the assets", () => {
  it("are the same bytes in every encoding", () => {
    for (const { bodies } of assets.values()) {
      expect(brotliDecompressSync(bodies.br)).toEqual(bodies.identity);
      expect(gunzipSync(bodies.gzip)).toEqual(bodies.identity);
    }
  });

  it("keep the launcher for minutes, hashed files for ever, and the rest not at all", () => {
    const caching = (path: string) => asset(path).headers["cache-control"];
    expect(caching("/widget.js")).toBe("public, max-age=300, stale-while-revalidate=86400");
    expect(caching(`/widget/${manifest.panel[0]}`)).toContain("immutable");
    expect(caching("/widget/manifest.json")).toBe("no-cache");
    expect(caching("/playground")).toBe("no-cache");
    for (const [path, { headers }] of assets) {
      expect(headers.etag, path).toMatch(/^"[\w-]{22}"$/);
    }
  });

  it("may be loaded from every origin, but for the operators' page", () => {
    for (const [path, { headers }] of assets) {
      expect(headers["access-control-allow-origin"], path).toBe(path === "/playground" ? undefined : "*");
    }
    expect(asset("/playground").headers["content-security-policy"]).toContain("require-trusted-types-for 'script'");
  });

  it("name their types", () => {
    expect(asset("/widget.js").headers["content-type"]).toBe("text/javascript; charset=utf-8");
    expect(asset("/playground").headers["content-type"]).toBe("text/html; charset=utf-8");
    expect(asset("/widget/manifest.json").headers["content-type"]).toBe("application/json; charset=utf-8");
  });

  it("are refused when the directory holds no build", async () => {
    await expect(loadAssets(join(directory, "nowhere"))).rejects.toThrow("ENOENT");
  });

  it("of the playground name files that are there, with their hashes", async () => {
    const page = await readFile(join(directory, "playground.html"), "utf8");
    const named = [...page.matchAll(/(?:src|href)="\/widget\/([^"]+)" integrity="([^"]+)"/g)];
    expect(named).toHaveLength(2);
    for (const [, file = "", integrity] of named) {
      expect(manifest.files[file]?.integrity).toBe(integrity);
    }
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
  ] as const)("answers %s with %s", (header, encoding) => {
    expect(pickEncoding(header)).toBe(encoding);
  });
});
