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
  /** `data-position`, which overrides the bot's position. */
  readonly position: string | undefined;
  /** `data-theme`, which overrides the bot's theme. */
  readonly theme: string | undefined;
  /** `data-offset-x` and `data-offset-y`: the CSS variables of the distances from the window's edges. Empty if the attribute is not a number. */
  readonly offsets: Readonly<Record<string, string>>;
  /** `data-launcher`: `hidden` hides the launcher's button. */
  readonly launcher: string | undefined;
  /** `data-open`: whether to open the panel at start. */
  readonly shouldOpen: boolean;
  readonly visitor: Visitor;
}

/** Reads the attributes of the script element. */
export function readOptions(script: HTMLScriptElement): Options {
  const {
    publicKey = "",
    lang,
    position,
    offsetX,
    offsetY,
    theme,
    launcher,
    open,
    visitorId,
    visitorMetadata,
  } = script.dataset;
  return {
    base: new URL(".", script.src).href,
    publicKey,
    nonce: script.nonce ?? "",
    lang: selectLanguage(lang || document.documentElement.lang || navigator.language),
    position,
    offsets: { "--edge-x": toPixels(offsetX), "--edge-y": toPixels(offsetY) },
    theme,
    launcher,
    shouldOpen: (open ?? "false") !== "false",
    visitor: { visitorId, ...(visitorMetadata && { metadata: visitorMetadata }) },
  };
}

function toPixels(text = ""): string {
  const pixels = Number.parseFloat(text);
  return pixels >= 0 ? `${pixels}px` : "";
}
