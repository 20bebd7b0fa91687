/** The URL as it is, or with every percent sign taken literally when they do not spell UTF-8. */
export function decodable(url: string): string {
  try {
    decodeURIComponent(url);
    return url;
  } catch {
    return url.replaceAll("%", "%25");
  }
}
