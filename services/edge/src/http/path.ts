/**
 * Returns the URL unchanged if the percent escapes of its path decode to UTF-8; otherwise with every percent sign of the path escaped, so that
 * the path decodes. The query needs no change: Fastify keeps a value that does not decode as it is.
 */
export function ensureDecodable(url: string): string {
  const [path = ""] = url.split("?", 1);
  try {
    decodeURIComponent(path);
    return url;
  } catch {
    return path.replaceAll("%", "%25") + url.slice(path.length);
  }
}
