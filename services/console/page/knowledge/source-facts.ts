import type { Source } from "@parley/rpc/conversation";
import { formatDateTime } from "../components/dates.ts";
import { plural } from "../i18n/t.tsx";

export function listSourceFacts(source: Source, hasEmbeddings: boolean): (string | undefined)[] {
  return [
    source.format.toUpperCase(),
    plural(source.characters, "{count} character", "{count} characters"),
    hasEmbeddings && source.embedded < source.chunks
      ? plural(source.chunks, "{part} of {count} passage indexed", "{part} of {count} passages indexed", {
          part: source.embedded,
        })
      : undefined,
    formatDateTime(source.updatedAt),
  ];
}
