import { type WebhookEndpoint, WebhookEndpointChangesSchema } from "@parley/rpc/conversation";
import { limitsOf } from "@parley/rpc/rules";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { webhooks } from "../api/clients.ts";
import { useSession } from "../api/session.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Checkbox } from "../components/checkbox.tsx";
import { Modal } from "../components/dialogs.tsx";
import { SelectField, TextField } from "../components/field.tsx";
import { MutationForm } from "../components/mutation-form.tsx";
import { t } from "../i18n/t.tsx";
import { EVENT_TYPES } from "./event-types.ts";
import { endpointsQuery } from "./webhook-queries.ts";

const CHOICES = [
  ["all", t("All events")],
  ["some", t("Only the chosen events")],
] as const;

/** The settings in the form. */
type Draft = { url: string; types: readonly string[]; isAll: boolean; includeContent: boolean; enabled: boolean };

const NEW_WEBHOOK: Draft = { url: "", types: [], isAll: true, includeContent: false, enabled: true };

function toDraft({ url, types, includeContent, disabledReason }: WebhookEndpoint): Draft {
  return { url, types, isAll: types.length === 0, includeContent, enabled: disabledReason === "" };
}

const toChanges = ({ url, types, isAll, includeContent, enabled }: Draft) => ({
  ...{ url, includeContent, enabled },
  types: { values: isAll ? [] : [...types] },
});

type CreateProps = { onClose: () => void; onCreated: (endpoint: WebhookEndpoint, secret: string) => void };

export function CreateWebhook({ onClose, onCreated }: CreateProps) {
  const { workspace_id: workspaceId } = useSession();
  const [draft, setDraft] = useState(NEW_WEBHOOK);
  const queryClient = useQueryClient();
  const creation = useMutation({
    mutationFn: () => webhooks.createEndpoint({ workspaceId, changes: toChanges(draft) }),
    onSuccess: ({ endpoint, secret }) => {
      if (endpoint) onCreated(endpoint, secret);
      void queryClient.invalidateQueries(endpointsQuery(workspaceId));
    },
    // Otherwise TanStack Query would keep the response, and with it the secret, for five minutes.
    gcTime: 0,
  });
  return (
    <Modal title={t("New webhook")} isOpen onOpenChange={onClose}>
      <MutationForm
        mutation={creation}
        action={t("Add webhook")}
        pendingAction={t("Adding…")}
        isDisabled={hasNoEvents(draft)}
        onClose={onClose}
      >
        <Fields draft={draft} onChange={setDraft} />
      </MutationForm>
    </Modal>
  );
}

export function ChangeWebhook({ endpoint, onClose }: { endpoint: WebhookEndpoint; onClose: () => void }) {
  const { workspaceId, id } = endpoint;
  const [draft, setDraft] = useState(() => toDraft(endpoint));
  const queryClient = useQueryClient();
  const announce = useAnnounce();
  const update = useMutation({
    mutationFn: () => webhooks.updateEndpoint({ workspaceId, id, changes: toChanges(draft) }),
    onSuccess: () => {
      announce(t("The webhook was changed."));
      void queryClient.invalidateQueries(endpointsQuery(workspaceId));
    },
  });
  return (
    <Modal title={t("Change the webhook")} isOpen onOpenChange={onClose}>
      <MutationForm
        mutation={update}
        action={t("Save")}
        pendingAction={t("Saving…")}
        isDisabled={hasNoEvents(draft)}
        onClose={onClose}
      >
        <Fields draft={draft} onChange={setDraft} />
      </MutationForm>
    </Modal>
  );
}

const hasNoEvents = ({ isAll, types }: Draft) => !isAll && types.length === 0;

function Fields({ draft, onChange }: { draft: Draft; onChange: (draft: Draft) => void }) {
  const { url, types, isAll, includeContent, enabled } = draft;
  const change = (changed: Partial<Draft>) => onChange({ ...draft, ...changed });
  return (
    <>
      <TextField
        label={t("Address")}
        hint={t("Parley sends each event to it as a POST request with a signed JSON document.")}
        formatError={t("Write the whole address, beginning with https://.")}
        type="url"
        pattern="https?://.*"
        required
        dir="ltr"
        maxLength={limitsOf(WebhookEndpointChangesSchema.field.url).max}
        value={url}
        onChange={({ target }) => change({ url: target.value })}
      />
      <SelectField
        label={t("Events")}
        options={CHOICES}
        value={isAll ? "all" : "some"}
        onChange={(choice) => change({ isAll: choice === "all" })}
      />
      {!isAll && (
        <fieldset className="event-types">
          <legend>{t("Only the chosen events")}</legend>
          {Object.entries(EVENT_TYPES).map(([type, name]) => (
            <Checkbox
              key={type}
              label={
                <>
                  {name} <code>{type}</code>
                </>
              }
              isChecked={types.includes(type)}
              onChange={(isChecked) =>
                change({ types: isChecked ? [...types, type] : types.filter((each) => each !== type) })
              }
            />
          ))}
        </fieldset>
      )}
      <Checkbox
        label={t("With the texts of messages")}
        hint={t("Otherwise events contain ids and counts only.")}
        isChecked={includeContent}
        onChange={(isChecked) => change({ includeContent: isChecked })}
      />
      <Checkbox
        label={t("Enabled")}
        hint={t("A disabled webhook gets no new events. Events that wait are sent when you enable it again.")}
        isChecked={enabled}
        onChange={(isChecked) => change({ enabled: isChecked })}
      />
    </>
  );
}
