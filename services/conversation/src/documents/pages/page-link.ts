/** The name by which servers know Parley, also in their robots.txt. */
export const USER_AGENT = "Parley";

const MAX_URL_CHARACTERS = 1_000;
/** Files without text, by the extension of the path. */
const NO_TEXT =
  /\.(?:7z|apk|avi|avif|bmp|css|dmg|doc|eot|epub|exe|gif|gz|ico|iso|jpe?g|js|json|m4a|mjs|mov|mp3|mp4|mpe?g|ogg|otf|pptx?|rar|rss|svg|tar|tgz|tiff?|ttf|wav|webm|webp|woff2?|xls|xml|zip)$/i;

/** Returns whether an absolute URL may lead to a page or another document with text. */
export function isCrawlableLink(href: string): boolean {
  if (href.length > MAX_URL_CHARACTERS) return false;
  const { protocol, pathname } = new URL(href);
  return (protocol === "http:" || protocol === "https:") && !NO_TEXT.test(pathname);
}
