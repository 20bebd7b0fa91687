import { t } from "../i18n/t.tsx";

/** The first entry that matches names the browser, because browsers name those that they are compatible with, too. */
const BROWSERS = [
  [/\bEdg(?:e|A|iOS)?\//, "Edge"],
  [/\b(?:OPR|Opera)\//, "Opera"],
  [/\bSamsungBrowser\//, "Samsung Internet"],
  [/\b(?:Firefox|FxiOS)\//, "Firefox"],
  [/\b(?:HeadlessChrome|Chrome|CriOS)\//, "Chrome"],
  [/\bVersion\/.*\bSafari\//, "Safari"],
] as const;
const SYSTEMS = [
  [/\biPhone\b/, "iPhone"],
  [/\biPad\b/, "iPad"],
  [/\bAndroid\b/, "Android"],
  [/\bWindows\b/, "Windows"],
  [/\bCrOS\b/, "ChromeOS"],
  [/\bMacintosh\b/, "Mac"],
  [/\bLinux\b/, "Linux"],
] as const;

/** Returns the browser and the system that a User-Agent header names, such as "Firefox on Windows". Empty if it names neither. */
export function describeBrowser(userAgent: string): string {
  const find = (names: readonly (readonly [RegExp, string])[]) =>
    names.find(([pattern]) => pattern.test(userAgent))?.[1];
  const [browser, system] = [find(BROWSERS), find(SYSTEMS)];
  if (browser === undefined) return system === undefined ? "" : t("Another browser on {system}", { system });
  return system === undefined ? browser : t("{browser} on {system}", { browser, system });
}

/** Returns the host and path of a URL. Leaves out the query, because it may contain personal data. */
export function describePage(referrer: string): string {
  if (!URL.canParse(referrer)) return "";
  const { host, pathname } = new URL(referrer);
  return host + pathname.replace(/\/$/, "");
}
