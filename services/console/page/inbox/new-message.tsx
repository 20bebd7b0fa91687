import type { ListTurnsResponse } from "@parley/rpc/conversation";
import { useEffect, useRef, useState } from "react";
import { t } from "../i18n/t.tsx";

/** Reports new messages of the visitor to screen readers, and scrolls to the end of a conversation when it grows. */
export function NewMessage({ pages }: { pages: readonly ListTurnsResponse[] }) {
  const messages = pages.flatMap(({ handoffMessages }) => handoffMessages);
  const last = messages.at(-1);
  const shownId = useRef(last?.id);
  const end = useRef<HTMLDivElement>(null);
  const [text, setText] = useState("");
  useEffect(() => {
    if (last === undefined || shownId.current === last.id) return;
    shownId.current = last.id;
    end.current?.scrollIntoView({ block: "nearest" });
    if (last.agent === undefined) setText(t("New message: {text}", { text: last.content }));
  }, [last]);
  useEffect(() => end.current?.scrollIntoView({ block: "nearest" }), []);
  return (
    <div ref={end} className="transcript-end">
      <p className="visually-hidden" role="status">
        {text}
      </p>
    </div>
  );
}
