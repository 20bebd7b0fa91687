/**
 * Appends an element to the body and puts it back whenever a framework clears or replaces the body on navigation.
 * Calls `onRestored` after putting it back. Removes the element when the signal is aborted.
 */
export function keepInPage(element: HTMLElement, signal: AbortSignal, onRestored: () => void): void {
  const observer = new MutationObserver(() => {
    if (!element.isConnected && document.body) {
      insert();
      onRestored();
    }
  });
  const insert = () => {
    document.body.append(element);
    observer.observe(document.documentElement, { childList: true });
    observer.observe(document.body, { childList: true });
  };
  signal.addEventListener("abort", () => {
    observer.disconnect();
    element.remove();
  });
  insert();
}
