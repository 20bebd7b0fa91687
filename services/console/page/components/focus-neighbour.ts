/**
 * Moves the focus from a row that is about to disappear or to lose its buttons: to the first button of the next row, or else of the row before,
 * or else to the screen's content. Otherwise the focus would be lost.
 */
export function focusNeighbour(row: HTMLElement | null): void {
  const button =
    row?.nextElementSibling?.querySelector("button") ?? row?.previousElementSibling?.querySelector("button");
  if (button) button.focus();
  else focusScreen();
}

/** Moves the focus to the screen's content. */
export function focusScreen(): void {
  document.querySelector<HTMLElement>("#main")?.focus();
}
