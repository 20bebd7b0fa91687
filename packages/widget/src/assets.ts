import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { HashedFile } from "./shared/hashed-file.ts";

export interface ManifestFile {
  readonly contentType: string;
  /** The value of the HTML attribute `integrity`, `sha256-…`. */
  readonly integrity: string;
  readonly bytes: number;
  readonly gzipBytes: number;
}

/** The files of a build. */
export interface Manifest {
  /**
   * The panel, and the chunks that it loads when they are first needed, by their names. A page that was opened before an upgrade loads these when its
   * own are gone.
   */
  readonly modules: Readonly<Record<string, HashedFile>>;
  /** The launcher's notice that the panel could not be loaded, by language. */
  readonly loadErrors: Readonly<Record<string, string>>;
  readonly files: Readonly<Record<string, ManifestFile>>;
}

export type Encoding = "br" | "gzip" | "identity";

/** A static HTTP response. */
export interface Asset {
  /** All headers but ETag, Content-Encoding and Content-Length, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly bodies: Readonly<Record<Encoding, Buffer>>;
  readonly etags: Readonly<Record<Encoding, string>>;
}

const CACHE_FOREVER = "public, max-age=31536000, immutable";
const CACHE_SHORT = "public, max-age=300, stale-while-revalidate=86400";
const CACHE_AFTER_REVALIDATION = "no-cache";

// The playground handles an access token, so the policy allows only this origin's own files and requests.
const PLAYGROUND_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  // The page's empty icon, which prevents requests for /favicon.ico.
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/**
 * Reads the output directory of `buildWidget`. The keys are URL paths: `/widget.js`, `/playground`, and
 * `/widget/<file>` for all other files. Rejects if the directory contains no build.
 */
export async function loadAssets(directory: string): Promise<ReadonlyMap<string, Asset>> {
  const manifest = JSON.parse(await readFile(join(directory, "manifest.json"), "utf8")) as Manifest;
  const assets = new Map<string, Asset>();
  for (const file of [...Object.keys(manifest.files), "manifest.json"]) {
    const path = join(directory, file);
    const [identity, br, gzip] = await Promise.all(["", ".br", ".gz"].map((suffix) => readFile(path + suffix)));
    if (identity && br && gzip) {
      const contentType = manifest.files[file]?.contentType ?? "application/json; charset=utf-8";
      assets.set(urlPath(file), {
        headers: buildHeaders(file, contentType),
        bodies: { br, gzip, identity },
        etags: { br: buildEtag(br), gzip: buildEtag(gzip), identity: buildEtag(identity) },
      });
    }
  }
  return assets;
}

function urlPath(file: string): string {
  return file === "widget.js" ? "/widget.js" : file === "playground.html" ? "/playground" : `/widget/${file}`;
}

function buildEtag(bytes: Buffer): string {
  return `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`;
}

/** Whether an If-None-Match header matches the tag by weak comparison (RFC 9110, 13.1.2). */
export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  const tags: readonly string[] = ifNoneMatch?.match(/"[^"]*"/g) ?? [];
  return ifNoneMatch?.trim() === "*" || tags.includes(etag);
}

function buildHeaders(file: string, contentType: string): Asset["headers"] {
  const common = {
    "content-type": contentType,
    vary: "Accept-Encoding",
    "x-content-type-options": "nosniff",
  };
  if (file === "playground.html") {
    return {
      ...common,
      "cache-control": CACHE_AFTER_REVALIDATION,
      "content-security-policy": PLAYGROUND_POLICY,
      "referrer-policy": "no-referrer",
    };
  }
  const isHashed = /\.[\da-f]{10}\.\w+$/.test(file);
  return {
    ...common,
    "cache-control": isHashed ? CACHE_FOREVER : file === "widget.js" ? CACHE_SHORT : CACHE_AFTER_REVALIDATION,
    // Customers' pages have other origins, and some set Cross-Origin-Embedder-Policy.
    "access-control-allow-origin": "*",
    "cross-origin-resource-policy": "cross-origin",
  };
}

/** Returns the first offered encoding that an Accept-Encoding header accepts, else `identity`. */
export function pickEncoding(
  acceptEncoding: string | undefined,
  offered: readonly Encoding[] = ["br", "gzip"],
): Encoding {
  const accepted = (acceptEncoding ?? "")
    .toLowerCase()
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => !/;\s*q=0(\.0*)?$/.test(entry))
    .map((entry) => entry.split(";")[0]?.trim());
  return offered.find((encoding) => accepted.includes(encoding)) ?? "identity";
}
