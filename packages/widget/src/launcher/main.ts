import { readOptions } from "./options.ts";
import { startWidget } from "./widget.ts";
import "./api.ts";

const script = (document.currentScript ??
  document.querySelector("script[data-public-key]")) as HTMLScriptElement | null;
const running = window.Parley;

if (!script?.dataset.publicKey) {
  console.warn("Parley: the script element has no data-public-key attribute");
} else if (script.isConnected && running?.publicKey !== script.dataset.publicKey) {
  // Does not start if a framework removed the script element before it ran, or if a widget with the same key is running.
  // A single-page framework may insert the script again on navigation.
  running?.destroy();
  window.Parley = startWidget(readOptions(script));
}
