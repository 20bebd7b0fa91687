/**
 * Call this before a row disappears or loses its buttons, so that the focus is not lost. Moves the focus to the first button of the next row.
 * If the next row has no button, uses the previous row. If neither has a button, focuses the screen's content.
 */
export function focusNeighbour(row: HTMLElement | null): void {
  const button =
    row?.nextElementSibling?.querySelector("button") ?? row?.previousElementSibling?.querySelector("button");
  if (button) button.focus();
  else focusScreen();
}

export function focusScreen(): void {
  document.querySelector<HTMLElement>("#main")?.focus();
}
