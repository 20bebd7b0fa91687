// Whether the panel is open is stored in the tab's session storage, for the next page of the tab.

const itemKey = (publicKey: string) => `parley:open:${publicKey}`;

/** Returns undefined if the browser refuses storage or the storage is full. */
export function tryStorage<Value>(access: () => Value): Value | undefined {
  try {
    return access();
  } catch {
    return undefined;
  }
}

/** Returns the stored state, or `fallback` if the panel was neither opened nor closed in this tab. */
export function readOpenState(publicKey: string, fallback: boolean): boolean {
  const stored = tryStorage(() => sessionStorage.getItem(itemKey(publicKey)));
  return stored ? stored === "true" : fallback;
}

/** Stores whether the next page opens the panel. Undefined stores that the page decides. */
export function writeOpenState(publicKey: string, isOpen: boolean | undefined): void {
  tryStorage(() => sessionStorage.setItem(itemKey(publicKey), String(isOpen ?? "")));
}
