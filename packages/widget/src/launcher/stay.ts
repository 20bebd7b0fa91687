/**
 * Keeps an element in the page's body: frameworks replace the body or clear it on navigation. `onRestored` runs each
 * time it had to be put back; the signal ends the watch and removes the element.
 */
export function stay(element: HTMLElement, signal: AbortSignal, onRestored: () => void): void {
  const watch = new MutationObserver(() => {
    if (!element.isConnected && document.body) {
      place();
      onRestored();
    }
  });
  const place = () => {
    document.body.append(element);
    watch.observe(document.documentElement, { childList: true });
    watch.observe(document.body, { childList: true });
  };
  signal.addEventListener("abort", () => {
    watch.disconnect();
    element.remove();
  });
  place();
}
