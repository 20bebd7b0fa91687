const DIALOG = "[role=dialog], [role=alertdialog]";

/**
 * Call this before a row disappears or loses its buttons, so that the focus is not lost. Moves the focus to the first button of the next row, or to a
 * button that follows the last row.
 * If the next row has no button, uses the previous row. If neither has a button, focuses the screen's content.
 */
export function focusNeighbour(row: HTMLElement | null): void {
  const button = findButton(row?.nextElementSibling) ?? findButton(row?.previousElementSibling);
  if (button) button.focus();
  else focusScreen();
}

function findButton(element: Element | null | undefined): HTMLButtonElement | null | undefined {
  return element instanceof HTMLButtonElement ? element : element?.querySelector("button");
}

export function focusScreen(): void {
  document.querySelector<HTMLElement>("#main")?.focus();
}

/**
 * Focuses the screen's content when the focused element disappears and nothing else takes the focus. Without this, the focus would be on the
 * body. A dialog that closes moves the focus itself.
 */
export function keepFocusInScreen(): void {
  let focused: Element | undefined;
  document.addEventListener("focusin", ({ target }) => {
    focused = target as Element;
  });
  const observer = new MutationObserver(() => {
    if (focused === undefined || focused.isConnected || focused.closest(DIALOG) !== null) return;
    focused = undefined;
    if (document.activeElement === document.body) focusScreen();
  });
  observer.observe(document.body, { childList: true, subtree: true });
}

/** What had the focus before the first of the open dialogs opened. */
let focusedBeforeDialogs: Element | null = null;

/**
 * Call this before a dialog takes the focus. Returns a function that moves the focus back, which the dialog must call after it has closed.
 */
export function rememberFocus(): () => void {
  const focused = document.activeElement;
  if (focused !== document.body && !isInDialog(focused)) focusedBeforeDialogs = focused;
  return () => {
    // If the element was in another dialog that has closed too, the focus goes to what had it before that dialog.
    const target = isInDialog(focused) ? focused : focusedBeforeDialogs;
    // A dialog that is still open and does not contain the element keeps the focus.
    if (document.querySelector(DIALOG) !== null && !isInDialog(target)) return;
    if (target?.isConnected) (target as HTMLElement).focus();
    if (document.activeElement === document.body) focusScreen();
  };
}

function isInDialog(element: Element | null): boolean {
  return element?.isConnected === true && element.closest(DIALOG) !== null;
}
