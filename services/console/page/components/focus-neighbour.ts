/** Moves the focus to a row beside this one, which is about to disappear or to lose its buttons. The keyboard continues there. */
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
