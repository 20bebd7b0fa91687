import { useState } from "react";
import { t } from "../i18n/t.tsx";
import { useAnnounce } from "./announcements.tsx";
import { Icon } from "./icon.tsx";

/** Shows a check mark after copying, because the announcement "Copied." is invisible while a dialog is open. */
export function CopyButton({ text, label }: { text: string; label: string }) {
  const [isCopied, setCopied] = useState(false);
  const announce = useAnnounce();
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      announce(t("Copied."));
    } catch {
      setCopied(false);
      announce(t("The browser does not allow copying. Select the text and copy it."), { isError: true });
    }
  };
  return (
    <button type="button" className="icon-button" aria-label={label} title={label} onClick={() => void copy()}>
      <Icon name={isCopied ? "check" : "copy"} />
    </button>
  );
}
