import type { Bot } from "@parley/rpc/conversation";

/** Returns each bot's slug and its label in a menu. The label contains the slug if several bots have the same name. */
export function toBotOptions(bots: readonly Bot[]): (readonly [slug: string, label: string])[] {
  const names = bots.map(({ slug, display }) => display?.name || slug);
  return bots.map(({ slug }, index) => {
    const name = names[index] ?? slug;
    const isUnique = names.indexOf(name) === names.lastIndexOf(name);
    return [slug, isUnique ? name : `${name} (${slug})`] as const;
  });
}
