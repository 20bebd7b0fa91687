/** Moves the focus from a row that is about to disappear to the next row, or the one before, so that the keyboard continues there. */
export function focusNeighbour(row: HTMLElement | null): void {
  const neighbour = row?.nextElementSibling ?? row?.previousElementSibling;
  const button = neighbour?.querySelector("button");
  if (button) button.focus();
  else focusScreen();
}

/** Moves the focus to the screen's content. */
export function focusScreen(): void {
  document.querySelector<HTMLElement>("#main")?.focus();
}
