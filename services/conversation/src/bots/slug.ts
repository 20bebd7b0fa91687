const SLUG = /^[a-z0-9-]{1,64}$/;

/** Whether a bot of this slug could exist. */
export function isSlug(text: string): boolean {
  return SLUG.test(text);
}
