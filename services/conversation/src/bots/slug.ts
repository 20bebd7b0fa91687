const SLUG = /^[a-z0-9-]{1,64}$/;

/** Returns whether a text is a well-formed slug. */
export function isSlug(text: string): boolean {
  return SLUG.test(text);
}
