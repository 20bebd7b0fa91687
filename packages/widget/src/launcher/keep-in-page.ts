/**
 * Appends an element to the html element, and to the top layer if the browser has popovers. There, neither the body's filter or transform
 * nor a new body moves or removes it. Puts the element back if the page removes it, and calls `onRestored`. Removes the element when the
 * signal is aborted.
 */
export function keepInPage(element: HTMLElement, signal: AbortSignal, onRestored: () => void): void {
  const observer = new MutationObserver(() => {
    if (!element.isConnected && document.documentElement) {
      insert();
      onRestored();
    }
  });
  const insert = () => {
    document.documentElement.append(element);
    // Firefox ESR 115 and Safari before 17 have no popovers.
    element.showPopover?.();
    observer.observe(document.documentElement, { childList: true });
  };
  element.popover = "manual";
  observer.observe(document, { childList: true });
  signal.addEventListener("abort", () => {
    observer.disconnect();
    element.remove();
  });
  insert();
}
