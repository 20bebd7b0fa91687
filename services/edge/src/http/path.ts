/** Returns the URL unchanged. If its percent escapes do not decode to UTF-8, escapes every percent sign. */
export function ensureDecodable(url: string): string {
  try {
    decodeURIComponent(url);
    return url;
  } catch {
    return url.replaceAll("%", "%25");
  }
}
