import { FULL_SCREEN_QUERY } from "../shared/dom.ts";

/**
 * Keeps the panel modal while it is open and covers the page: the page's body is inert then, so neither the keyboard nor a screen reader leaves
 * the panel. Otherwise the panel is not modal. `update` must be called when the panel was shown or hidden.
 */
export function createModality(dialog: HTMLElement, signal: AbortSignal): { update(): void } {
  const fullScreen = matchMedia(FULL_SCREEN_QUERY);
  let isModal = false;
  const update = () => {
    const wasModal = isModal;
    isModal = !dialog.hidden && fullScreen.matches && !signal.aborted;
    dialog.setAttribute("aria-modal", String(isModal));
    // Leaves a body alone that the page itself has made inert.
    if (isModal || wasModal) {
      document.body.inert = isModal;
    }
  };
  // The visitor turns the device or zooms.
  fullScreen.addEventListener("change", update, { signal });
  // A framework replaces the body.
  const observer = new MutationObserver(update);
  observer.observe(document.documentElement, { childList: true });
  signal.addEventListener("abort", () => {
    observer.disconnect();
    update();
  });
  return { update };
}
