import * as Menu from "@radix-ui/react-dropdown-menu";
import { type SyntheticEvent, useState } from "react";
import { type ConversationFilters, exportUrl } from "../api/conversations.ts";
import { errorText } from "../api/error-text.ts";
import { errorOf } from "../api/response-error.ts";
import { refreshSession } from "../api/session-fetch.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Icon } from "../components/icon.tsx";

const FORMS = [
  ["csv", "For spreadsheets", "CSV"],
  ["ndjson", "For programs", "NDJSON"],
] as const;

/** Each export has a number, so that the same address is loaded again. */
type Export = { number: number; url: string };

/** Downloads the conversations that the list's filters select. */
export function ExportMenu({ filters }: { filters: ConversationFilters }) {
  const announce = useAnnounce();
  const [latest, setLatest] = useState<Export | undefined>();
  const download = async (form: "csv" | "ndjson") => {
    try {
      // The download sends the session's token, which must not have expired.
      await refreshSession();
      setLatest((before) => ({ number: (before?.number ?? 0) + 1, url: exportUrl(filters, form) }));
    } catch (error) {
      announce(errorText(error), { isError: true });
    }
  };
  const showError = ({ currentTarget }: SyntheticEvent<HTMLIFrameElement>) => {
    const body = currentTarget.contentDocument?.querySelector("pre")?.textContent ?? "";
    announce(errorText(errorOf(0, body)), { isError: true });
  };
  return (
    <>
      <Menu.Root modal={false}>
        <Menu.Trigger className="button">
          <Icon name="download" />
          Export
        </Menu.Trigger>
        <Menu.Content className="menu" align="end" sideOffset={6}>
          <Menu.Label className="menu-note">{describeSelection(filters)}</Menu.Label>
          {FORMS.map(([form, purpose, name]) => (
            <Menu.Item key={form} className="menu-item" onSelect={() => void download(form)}>
              {name}
              <small className="muted">{purpose}</small>
            </Menu.Item>
          ))}
        </Menu.Content>
      </Menu.Root>
      {/* A frame loads only an error: the browser saves an export as it arrives. A link would replace the console with the error. */}
      {latest && <iframe key={latest.number} src={latest.url} title="Export" hidden onLoad={showError} />}
    </>
  );
}

function describeSelection({ q, from, to }: ConversationFilters): string {
  const selected =
    from || to
      ? "The conversations of these filters that started on these days. The list’s days are those of the last message."
      : "The conversations of these filters.";
  return q === undefined ? selected : `${selected} The search does not apply.`;
}
