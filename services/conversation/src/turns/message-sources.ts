import type { MessageInitShape } from "@bufbuild/protobuf";
import type { MessageSourceSchema, MessageSource as SourceMessage } from "@parley/rpc/conversation";
import { withoutNul } from "../text.ts";
import type { MessageSource } from "./close-turn.store.ts";

/** Returns the sources in the form of the column `sources`. */
export function toMessageSources(sources: readonly SourceMessage[]): MessageSource[] {
  return sources.map(({ number, title, url }) => ({
    number,
    title: withoutNul(title),
    ...(url !== "" && { url: withoutNul(url) }),
  }));
}

export function toSourceMessages(sources: readonly MessageSource[]): MessageInitShape<typeof MessageSourceSchema>[] {
  return sources.map(({ number, title, url = "" }) => ({ number, title, url }));
}
