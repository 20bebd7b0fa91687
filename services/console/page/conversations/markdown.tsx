import { renderMarkdown } from "@parley/widget/render-markdown";
import { useLayoutEffect, useRef } from "react";

/** Shows a reply as the widget shows it. Relative links are relative to `page`, the address of the page with the widget. */
export function Markdown({ text, page }: { text: string; page: string }) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (box.current) renderMarkdown(box.current, text, page || undefined);
  }, [text, page]);
  return <div ref={box} className="markdown" dir="auto" />;
}
