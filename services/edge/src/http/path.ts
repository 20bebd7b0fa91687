/** Returns the URL unchanged if its percent escapes decode to UTF-8; otherwise with every percent sign escaped, so that it decodes. */
export function ensureDecodable(url: string): string {
  try {
    decodeURIComponent(url);
    return url;
  } catch {
    return url.replaceAll("%", "%25");
  }
}
