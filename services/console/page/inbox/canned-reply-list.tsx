import type { CannedReply } from "@parley/rpc/conversation";
import { useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { useSession } from "../api/session.ts";
import { cannedRepliesQuery, findReplies } from "../canned-replies/canned-replies-query.ts";
import { t } from "../i18n/t.tsx";

/** A text that begins with it searches the canned replies. */
const PREFIX = "/";

type Replies = {
  id: string;
  /** undefined while the list is closed. */
  found: readonly CannedReply[] | undefined;
  active: number;
  insert: (reply: CannedReply | undefined) => void;
};

/**
 * Offers the canned replies that match `text` after its "/". `onInsert` gets the chosen reply's text. `handleKey` returns whether a key was for the
 * list.
 */
export function useCannedReplies(text: string, onInsert: (text: string) => void) {
  const { workspace_id: workspaceId } = useSession();
  const { data: replies = [] } = useQuery(cannedRepliesQuery(workspaceId));
  const id = useId();
  const [{ search, active, isDismissed }, setState] = useState({ search: "", active: 0, isDismissed: false });
  // A changed search begins at the first match. A dismissed list stays closed as long as the text begins with the prefix.
  if (search !== text) setState({ search: text, active: 0, isDismissed: isDismissed && text.startsWith(PREFIX) });
  const isOpen = text.startsWith(PREFIX) && !isDismissed && replies.length > 0;
  const found = isOpen ? findReplies(replies, text.slice(PREFIX.length)) : undefined;
  const insert = (reply: CannedReply | undefined) => {
    if (reply === undefined) return;
    // The list stays closed even if the text begins with the prefix.
    setState({ search: reply.text, active: 0, isDismissed: true });
    onInsert(reply.text);
  };
  const move = (to: number, count: number) => setState({ search, active: (to + count) % count, isDismissed });
  const handleKey = (event: KeyboardEvent): boolean => {
    // A key of an IME has the keyCode 229.
    if (found === undefined || event.keyCode === 229) return false;
    const keys: Record<string, () => void> = {
      Escape: () => setState({ search, active, isDismissed: true }),
      ...(found.length > 0 && {
        ArrowDown: () => move(active + 1, found.length),
        ArrowUp: () => move(active - 1, found.length),
        ...(!event.shiftKey && { Enter: () => insert(found[active]) }),
      }),
    };
    const run = keys[event.key];
    if (run === undefined) return false;
    event.preventDefault();
    run();
    return true;
  };
  return {
    ...({ id, found, active, insert } satisfies Replies),
    handleKey,
    fieldAttributes: {
      "aria-autocomplete": "list",
      "aria-haspopup": "listbox",
      "aria-controls": found && found.length > 0 ? id : undefined,
      "aria-activedescendant": found?.[active] && optionId(id, active),
    } as const,
  };
}

const optionId = (id: string, index: number) => `${id}-${index}`;

export function CannedReplyList({ id, found, active, insert }: Replies) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // Not returned: browsers return a promise, which React would call as a function.
    list.current?.children[active]?.scrollIntoView({ block: "nearest" });
  }, [active]);
  return (
    <>
      <p className={found?.length === 0 ? "hint" : "visually-hidden"} role="status">
        {found?.length === 0 && t("No canned reply matches")}
        {found && found.length > 0 && t("Canned replies found: {count}", { count: found.length })}
      </p>
      {found !== undefined && found.length > 0 && (
        // The field handles the keys.
        <div ref={list} id={id} role="listbox" aria-label={t("Canned replies")} className="canned-replies">
          {found.map((reply, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the field handles the keys.
            <div
              key={String(reply.id)}
              id={optionId(id, index)}
              role="option"
              tabIndex={-1}
              aria-selected={index === active}
              // Keeps the focus in the field.
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => insert(reply)}
            >
              <strong dir="auto">{reply.name}</strong>
              <small dir="auto">{reply.text}</small>
            </div>
          ))}
        </div>
      )}
    </>
  );
}
