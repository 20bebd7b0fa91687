import { readOptions } from "./options.ts";
import { startWidget } from "./widget.ts";
import "./api.ts";

// document.currentScript is null for modules and in shadow roots, and is another element if a plugin merges scripts.
const current = document.currentScript as HTMLScriptElement | null;
const script = current?.dataset.publicKey
  ? current
  : document.querySelector<HTMLScriptElement>("script[data-public-key][src]");
const running = window.Parley;

if (!script?.dataset.publicKey) {
  console.warn("Parley: no script with src and data-public-key outside shadow roots");
} else if (script.isConnected) {
  // The conditions are for single-page frameworks: they may remove the script element before the script runs, or insert it
  // again on navigation, perhaps for another visitor.
  const options = readOptions(script);
  if (running?.publicKey !== options.publicKey) {
    running?.destroy();
    window.Parley = startWidget(options);
  } else if (options.visitor.visitorId) {
    running.identify(options.visitor);
  }
}
