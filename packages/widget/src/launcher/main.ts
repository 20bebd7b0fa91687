import { readOptions } from "./options.ts";
import { startWidget } from "./widget.ts";
import "./api.ts";

const script = (document.currentScript ??
  document.querySelector("script[data-public-key]")) as HTMLScriptElement | null;
const running = window.Parley;

if (!script?.dataset.publicKey) {
  console.warn("Parley: the script element has no data-public-key attribute");
} else if (script.isConnected && running?.publicKey !== script.dataset.publicKey) {
  // The condition is for single-page frameworks: they may remove the script element before the script runs, or insert it
  // again on navigation.
  running?.destroy();
  window.Parley = startWidget(readOptions(script));
}
