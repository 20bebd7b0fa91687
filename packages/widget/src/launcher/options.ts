import { selectLanguage } from "../shared/language.ts";
import type { Visitor } from "../shared/types.ts";

/** The attributes of the customer's script element. */
export interface Options {
  /** The service's URL, ending in a slash. */
  readonly base: string;
  readonly publicKey: string;
  /** The nonce for pages whose Content-Security-Policy requires one; otherwise empty. */
  readonly nonce: string;
  /** `data-lang`, or the page's language, or the browser's, without the region. */
  readonly lang: string;
  readonly isRightToLeft: boolean;
  /** `data-position`, which overrides the bot's position. */
  readonly position: string | undefined;
  /** `data-theme`, which overrides the bot's theme. */
  readonly theme: string | undefined;
  /** `data-open`: whether to open the panel at start. */
  readonly shouldOpen: boolean;
  readonly visitor: Visitor;
}

/** Reads the attributes of the script element. */
export function readOptions(script: HTMLScriptElement): Options {
  const { publicKey = "", lang, position, theme, open, visitorId, visitorMetadata } = script.dataset;
  const page = document.documentElement;
  const language = selectLanguage(lang || page.lang || navigator.language);
  return {
    base: new URL(".", script.src).href,
    publicKey,
    nonce: script.nonce ?? "",
    lang: language,
    // The page's direction counts only without data-lang, which may differ from the page's language.
    isRightToLeft: /^(ar|dv|fa|he|ps|ur|yi)\b/.test(language) || (!lang && getComputedStyle(page).direction === "rtl"),
    position,
    theme,
    shouldOpen: open !== undefined && open !== "false",
    visitor: { visitorId, metadata: visitorMetadata },
  };
}
