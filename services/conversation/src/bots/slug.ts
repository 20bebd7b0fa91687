const SLUG = /^[a-z0-9-]{1,64}$/;

export function isSlug(text: string): boolean {
  return SLUG.test(text);
}
