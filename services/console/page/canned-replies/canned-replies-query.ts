import type { CannedReply } from "@parley/rpc/conversation";
import { cannedReplies } from "../api/clients.ts";

export const cannedRepliesQuery = (workspaceId: string) => ({
  queryKey: ["canned-replies", workspaceId],
  queryFn: async () => (await cannedReplies.listCannedReplies({ workspaceId })).replies,
});

/** Returns the replies whose name or text contains each word of the search. Accents and case do not matter. */
export function findReplies(replies: readonly CannedReply[], search: string): readonly CannedReply[] {
  const words = fold(search).split(/\s+/);
  return replies.filter(({ name, text }) => {
    const searched = fold(`${name}\n${text}`);
    return words.every((word) => searched.includes(word));
  });
}

function fold(text: string): string {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}
