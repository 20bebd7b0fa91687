/**
 * If the percent escapes of the URL's path do not decode to UTF-8, escapes every percent sign of the path, so that the path decodes. The query
 * needs no change: Fastify accepts values that do not decode.
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
