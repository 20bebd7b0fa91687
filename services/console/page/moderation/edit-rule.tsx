import type { Pattern } from "@parley/rpc/conversation";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { moderation } from "../api/clients.ts";
import { patternsQuery } from "../api/queries.ts";
import { useSession } from "../api/session.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Modal } from "../components/dialogs.tsx";
import { SelectField, TextArea, TextField } from "../components/field.tsx";
import { MutationForm } from "../components/mutation-form.tsx";
import { TryText } from "./try-text.tsx";

export const APPLIES_TO: Readonly<Record<string, string>> = {
  message: "Visitors' messages",
  reply: "The bot's answers",
  both: "Messages and answers",
};

/** A dialog that changes `rule` or, without one, adds a rule. */
export function EditRule({ botSlug, rule, onClose }: { botSlug: string; rule?: Pattern; onClose: () => void }) {
  const { workspace_id: workspaceId } = useSession();
  const [pattern, setPattern] = useState(rule?.pattern ?? "");
  const [fallback, setFallback] = useState(rule?.fallback ?? "");
  const [appliesTo, setAppliesTo] = useState(rule?.appliesTo ?? "message");
  const queryClient = useQueryClient();
  const announce = useAnnounce();
  const saving = useMutation({
    mutationFn: async () => {
      const fields = { pattern, fallback, appliesTo };
      if (rule) await moderation.updatePattern({ workspaceId, botSlug, id: rule.id, changes: fields });
      else await moderation.addPattern({ workspaceId, botSlug, ...fields });
    },
    onSuccess: () => {
      announce(`The rule was ${rule ? "changed" : "added"}. It applies within seconds.`);
      void queryClient.invalidateQueries(patternsQuery(workspaceId, botSlug));
    },
  });
  const action = rule ? "Save rule" : "Add rule";
  return (
    <Modal title={rule ? "Change the rule" : "New rule"} isOpen onOpenChange={onClose}>
      <MutationForm mutation={saving} action={action} pendingAction="Saving…" onClose={onClose}>
        <TextField
          label="Pattern"
          hint="A regular expression in RE2 syntax. It may match any part of a text and ignores case."
          required
          maxLength={1_000}
          spellCheck={false}
          value={pattern}
          onChange={({ target }) => setPattern(target.value)}
        />
        <SelectField
          label="Applies to"
          options={Object.entries(APPLIES_TO)}
          value={appliesTo}
          onChange={setAppliesTo}
        />
        <TextArea
          label="Text in place of the answer"
          hint="If empty, visitors see the text that the bot's settings have for blocked answers."
          rows={2}
          maxLength={2_000}
          value={fallback}
          onChange={({ target }) => setFallback(target.value)}
        />
        <TryText botSlug={botSlug} unsaved={{ pattern, appliesTo, replacesId: rule?.id ?? 0n }} />
      </MutationForm>
    </Modal>
  );
}
