import type { ListTurnsResponse } from "@parley/rpc/conversation";
import { useEffect, useRef, useState } from "react";
import { t } from "../i18n/t.tsx";

/** Reports new messages of the visitor to screen readers. Scrolls to the end when the conversation grows, unless the agent reads an earlier part. */
export function NewMessage({ pages }: { pages: readonly ListTurnsResponse[] }) {
  const messages = pages.flatMap(({ handoffMessages }) => handoffMessages);
  const last = messages.at(-1);
  const shownId = useRef(last?.id);
  const end = useRef<HTMLDivElement>(null);
  /** Whether the end was in the window before the last message. */
  const isAtEnd = useRef(true);
  const [text, setText] = useState("");
  useEffect(() => {
    if (last === undefined || shownId.current === last.id) return;
    shownId.current = last.id;
    if (isAtEnd.current || last.agent !== undefined) end.current?.scrollIntoView({ block: "nearest" });
    if (last.agent === undefined) setText(t("New message: {text}", { text: last.content }));
  }, [last]);
  useEffect(() => {
    end.current?.scrollIntoView({ block: "nearest" });
    const observer = new IntersectionObserver(([entry]) => {
      isAtEnd.current = entry?.isIntersecting ?? true;
    });
    if (end.current) observer.observe(end.current);
    return () => observer.disconnect();
  }, []);
  return (
    <div ref={end} className="transcript-end">
      <p className="visually-hidden" role="status">
        {text}
      </p>
    </div>
  );
}
