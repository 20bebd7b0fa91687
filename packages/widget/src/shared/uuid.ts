/** Returns a random UUID of version 4. `crypto.randomUUID` does not exist on pages that are served over plain HTTP. */
export function createUuid(): string {
  const digit = () => ((crypto.getRandomValues(new Uint8Array(1))[0] as number) & 15).toString(16);
  // 4 is the version. 8 is the variant, with its two free bits fixed at 0.
  return "xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx".replace(/x/g, digit);
}
