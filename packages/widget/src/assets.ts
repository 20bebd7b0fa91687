import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { HashedFile } from "./shared/hashed-file.ts";

/** One built file. */
export interface ManifestFile {
  readonly contentType: string;
  /** `sha384-…` of the bytes, as the integrity attribute takes it. */
  readonly integrity: string;
  readonly bytes: number;
  readonly gzipBytes: number;
}

/** What a build holds: the panel that launchers of earlier builds should load, and every file. */
export interface Manifest {
  readonly panel: HashedFile;
  readonly files: Readonly<Record<string, ManifestFile>>;
}

/** An HTTP response that is always the same. */
export interface Asset {
  /** Every header but Content-Encoding and Content-Length, in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The bytes by content encoding; `identity` is what a client gets that takes neither of the others. */
  readonly bodies: { readonly br: Buffer; readonly gzip: Buffer; readonly identity: Buffer };
}

const IMMUTABLE = "public, max-age=31536000, immutable";
const SHORT = "public, max-age=300, stale-while-revalidate=86400";
const REVALIDATED = "no-cache";

// The playground holds an access token: nothing but the build's own files may run, load or be reached from it.
const PLAYGROUND_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  // The empty icon: without one browsers ask for /favicon.ico.
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/**
 * Reads a directory that `buildWidget` filled. The keys are the paths to serve: `/widget.js`, `/playground`, and
 * `/widget/<file>` for the rest. Rejects when the directory holds no build.
 */
export async function loadAssets(directory: string): Promise<ReadonlyMap<string, Asset>> {
  const manifest = JSON.parse(await readFile(join(directory, "manifest.json"), "utf8")) as Manifest;
  const assets = new Map<string, Asset>();
  for (const file of [...Object.keys(manifest.files), "manifest.json"]) {
    const path = join(directory, file);
    const [identity, br, gzip] = await Promise.all(["", ".br", ".gz"].map((ending) => readFile(path + ending)));
    if (identity && br && gzip) {
      const contentType = manifest.files[file]?.contentType ?? "application/json; charset=utf-8";
      assets.set(pathOf(file), { headers: headersOf(file, contentType, identity), bodies: { br, gzip, identity } });
    }
  }
  return assets;
}

function pathOf(file: string): string {
  return file === "widget.js" ? "/widget.js" : file === "playground.html" ? "/playground" : `/widget/${file}`;
}

function headersOf(file: string, contentType: string, bytes: Buffer): Asset["headers"] {
  const common = {
    "content-type": contentType,
    etag: `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`,
    vary: "Accept-Encoding",
    "x-content-type-options": "nosniff",
  };
  if (file === "playground.html") {
    return {
      ...common,
      "cache-control": REVALIDATED,
      "content-security-policy": PLAYGROUND_POLICY,
      "referrer-policy": "no-referrer",
    };
  }
  const hashed = /\.[\da-f]{10}\.\w+$/.test(file);
  return {
    ...common,
    "cache-control": hashed ? IMMUTABLE : file === "widget.js" ? SHORT : REVALIDATED,
    // Customers' pages load these from their own origins, some under Cross-Origin-Embedder-Policy.
    "access-control-allow-origin": "*",
    "cross-origin-resource-policy": "cross-origin",
  };
}

/** The encoding to send for an Accept-Encoding header: `br` before `gzip` before `identity`; `;q=0` refuses. */
export function pickEncoding(acceptEncoding: string | undefined): keyof Asset["bodies"] {
  const accepted = (acceptEncoding ?? "")
    .toLowerCase()
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => !/;\s*q=0(\.0*)?$/.test(entry))
    .map((entry) => entry.split(";")[0]?.trim());
  return (["br", "gzip"] as const).find((encoding) => accepted.includes(encoding)) ?? "identity";
}
