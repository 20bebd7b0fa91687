import { isUtcTime, isUuid, isWorkspaceId } from "@parley/rpc/formats";
import { invalidArgument } from "./errors.ts";

/** Cuts a page from rows that were read with a limit of `size` + 1. `last` is the page's last row; undefined if the page ends the list. */
export function cutPage<T>(rows: readonly T[], size: number): { page: T[]; last: T | undefined } {
  const page = rows.slice(0, size);
  return { page, last: rows.length > size ? page.at(-1) : undefined };
}

type Checks = Readonly<Record<string, (text: string) => boolean>>;

/** Returns the format of a list's page tokens. `checks` has the values by which the list is ordered, each with the check of its text in a token. */
export function createPageTokens<C extends Checks>(checks: C) {
  const keys = Object.keys(checks) as (keyof C & string)[];
  return {
    /** Returns the token of the page after a position; an empty text without a position. */
    format(position: Readonly<Record<keyof C, string | number>> | undefined): string {
      return position === undefined ? "" : keys.map((key) => position[key]).join(" ");
    },
    /** Returns a token's position; undefined for an empty text. Throws invalid_argument for any other text that is not a token. */
    parse(token: string): Record<keyof C, string> | undefined {
      if (token === "") return undefined;
      const texts = token.split(" ");
      if (texts.length !== keys.length || !keys.every((key, index) => checks[key]?.(texts[index] ?? "")))
        throw invalidArgument("page_token is invalid");
      return Object.fromEntries(keys.map((key, index) => [key, texts[index]])) as Record<keyof C, string>;
    },
  };
}

/** A position in a list of turns that is ordered by time. `at` is RFC 3339 in UTC. */
export type TurnPosition = { at: string; workspaceId: string; turnId: string };

export const turnPageTokens = createPageTokens({ at: isUtcTime, workspaceId: isWorkspaceId, turnId: isUuid });
