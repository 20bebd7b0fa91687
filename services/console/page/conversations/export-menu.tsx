import * as Menu from "@radix-ui/react-dropdown-menu";
import { type ConversationFilters, exportUrl } from "../api/conversations.ts";
import { errorText } from "../api/error-text.ts";
import { refreshSession } from "../api/session-fetch.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Icon } from "../components/icon.tsx";

const FORMS = [
  ["csv", "For spreadsheets", "CSV"],
  ["ndjson", "For programs", "NDJSON"],
] as const;

/** Downloads the conversations that the list's filters select. */
export function ExportMenu({ filters }: { filters: ConversationFilters }) {
  const announce = useAnnounce();
  const download = async (form: "csv" | "ndjson") => {
    try {
      // The download sends the session's token, which must not have ended.
      await refreshSession();
      location.assign(exportUrl(filters, form));
    } catch (error) {
      announce(errorText(error), { isError: true });
    }
  };
  return (
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
  );
}

function describeSelection({ q, from, to }: ConversationFilters): string {
  const selected =
    from || to
      ? "The conversations of these filters that started on these days. The list’s days are those of the last message."
      : "The conversations of these filters.";
  return q === undefined ? selected : `${selected} The search does not apply.`;
}
