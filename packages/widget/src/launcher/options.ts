import type { Visitor } from "../shared/types.ts";

/** What the customer's script element says. */
export interface Options {
  /** The service's URL, ending in a slash. */
  readonly base: string;
  readonly publicKey: string;
  /** What lets scripts run on pages that allow them by nonce; empty on others. */
  readonly nonce: string;
  /** `data-lang`, else the page's language; lower case. */
  readonly lang: string;
  readonly rightToLeft: boolean;
  /** `data-position`, `data-theme`: instead of the bot's own. */
  readonly position: string | undefined;
  readonly theme: string | undefined;
  /** `data-open`: open at once. */
  readonly open: boolean;
  readonly visitor: Visitor;
}

/** Reads the script element. Metadata that is no JSON is reported to the page's author and left out. */
export function readOptions(script: HTMLScriptElement): Options {
  const { publicKey = "", lang, position, theme, open, visitorId, visitorMetadata } = script.dataset;
  const page = document.documentElement;
  const language = (lang ?? (page.lang || navigator.language)).toLowerCase();
  return {
    base: new URL(".", script.src).href,
    publicKey,
    nonce: script.nonce ?? "",
    lang: language,
    // Without data-lang the page's own direction counts too: it may be in a language that is not in the list.
    rightToLeft: /^(ar|dv|fa|he|ps|ur|yi)\b/.test(language) || (!lang && getComputedStyle(page).direction === "rtl"),
    position,
    theme,
    open: open !== undefined && open !== "false",
    visitor: { visitorId, metadata: visitorMetadata ? parseMetadata(visitorMetadata) : undefined },
  };
}

function parseMetadata(json: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(json) as Record<string, unknown>;
  } catch {
    console.warn("Parley: data-visitor-metadata is not JSON");
    return undefined;
  }
}
