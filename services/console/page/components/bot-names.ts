import type { Bot } from "@parley/rpc/conversation";
import { isolate } from "../i18n/language.ts";

/** Returns each bot's label in a menu, by slug. Isolates the labels from the direction of the page, because an option cannot contain a bdi element. */
export function toBotOptions(bots: readonly Bot[]): (readonly [slug: string, label: string])[] {
  return toBotNames(bots).map(([slug, name]) => [slug, isolate(name)] as const);
}

/** Returns each bot's name by slug. Contains the slug too if several bots have the same name. */
export function toBotNames(bots: readonly Bot[]): (readonly [slug: string, name: string])[] {
  const names = bots.map(({ slug, display }) => display?.name || slug);
  return bots.map(({ slug }, index) => {
    const name = names[index] ?? slug;
    const isUnique = names.indexOf(name) === names.lastIndexOf(name);
    return [slug, isUnique ? name : `${name} (${slug})`] as const;
  });
}
