/** Returns the URL unchanged, or with every percent sign escaped if its escapes do not decode to UTF-8. */
export function ensureDecodable(url: string): string {
  try {
    decodeURIComponent(url);
    return url;
  } catch {
    return url.replaceAll("%", "%25");
  }
}
