import { readOptions } from "./options.ts";
import { startWidget } from "./widget.ts";
import "./api.ts";

const script = (document.currentScript ??
  document.querySelector("script[data-public-key]")) as HTMLScriptElement | null;
const running = window.Parley;

if (!script?.dataset.publicKey) {
  console.warn("Parley: the script element needs a data-public-key");
} else if (script.isConnected && running?.publicKey !== script.dataset.publicKey) {
  // Taken out of the page before it ran, as frameworks do with what is no longer shown, it starts nothing.
  // A second script element for the same bot, as single-page frameworks insert on navigation, changes nothing.
  running?.destroy();
  window.Parley = startWidget(readOptions(script));
}
