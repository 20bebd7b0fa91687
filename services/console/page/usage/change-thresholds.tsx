import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { workspaces } from "../api/clients.ts";
import { useSession } from "../api/session.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Modal } from "../components/dialogs.tsx";
import { TextField } from "../components/field.tsx";
import { MutationForm } from "../components/mutation-form.tsx";
import { t } from "../i18n/t.tsx";
import { usageKey } from "./read-months.ts";

/** At most ten numbers from 1 to 100, also with Arabic and ideographic commas, and with percent signs. */
const PATTERN = String.raw`(?:\s*(?:100|[1-9]\d?)\s*%?\s*(?:[,،、，]|$)){0,10}\s*`;

type ChangeProps = { percents: readonly number[]; onClose: () => void };

export function ChangeThresholds({ percents, onClose }: ChangeProps) {
  const { workspace_id: workspaceId } = useSession();
  const [text, setText] = useState(percents.join(", "));
  const queryClient = useQueryClient();
  const announce = useAnnounce();
  const change = useMutation({
    mutationFn: () => workspaces.setUsageThresholds({ workspaceId, thresholds: parsePercents(text) }),
    onSuccess: () => {
      announce(t("The warning thresholds were changed."));
      void queryClient.invalidateQueries({ queryKey: usageKey(workspaceId) });
    },
  });
  return (
    <Modal title={t("Change the thresholds")} isOpen onOpenChange={onClose}>
      <MutationForm mutation={change} action={t("Save")} pendingAction={t("Saving…")} onClose={onClose}>
        <TextField
          label={t("Warning thresholds")}
          hint={t("Percent of the month's quota, separated by commas, such as 50, 80, 100. Leave it empty for none.")}
          formatError={t("Write at most ten different whole numbers from 1 to 100, separated by commas.")}
          pattern={PATTERN}
          autoComplete="off"
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
      </MutationForm>
    </Modal>
  );
}

/** Returns the different numbers of a text that matches PATTERN. */
function parsePercents(text: string): number[] {
  return [...new Set(text.match(/\d+/g)?.map(Number))];
}
