import { readOptions } from "./options.ts";
import { startWidget } from "./widget.ts";
import "./api.ts";

const script = (document.currentScript ??
  document.querySelector("script[data-public-key]")) as HTMLScriptElement | null;
const running = window.Parley;

if (!script?.dataset.publicKey) {
  console.warn("Parley: the script element has no data-public-key attribute");
} else if (script.isConnected) {
  // The conditions are for single-page frameworks: they may remove the script element before the script runs, or insert it
  // again on navigation, perhaps for another visitor.
  const { publicKey, visitorId, visitorMetadata } = script.dataset;
  if (running?.publicKey !== publicKey) {
    running?.destroy();
    window.Parley = startWidget(readOptions(script));
  } else if (visitorId) {
    running?.identify({ visitorId, ...(visitorMetadata && { metadata: visitorMetadata }) });
  }
}
