import type { Source } from "@parley/rpc/conversation";
import { formatDateTime } from "../components/dates.ts";

export function describeSource(source: Source, hasEmbeddings: boolean): string {
  const facts = [
    source.format.toUpperCase(),
    `${source.characters.toLocaleString()} characters`,
    hasEmbeddings && source.embedded < source.chunks
      ? `${source.embedded} of ${source.chunks} passages indexed`
      : undefined,
    formatDateTime(source.updatedAt),
  ];
  return facts.filter(Boolean).join(" · ");
}
