import { WebhookAdminService, type WebhookEndpoint } from "@parley/rpc/conversation";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { webhooks } from "../api/clients.ts";
import { errorText } from "../api/error-text.ts";
import { useMayCall } from "../api/session.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Confirm, Modal } from "../components/dialogs.tsx";
import { SelectField } from "../components/field.tsx";
import { Icon } from "../components/icon.tsx";
import { MutationForm } from "../components/mutation-form.tsx";
import { t } from "../i18n/t.tsx";
import { nameWebhook } from "./describe-webhook.ts";
import { ChangeWebhook } from "./edit-webhook.tsx";
import { SecretDialog } from "./secret-dialog.tsx";
import { endpointsQuery } from "./webhook-queries.ts";

/** The buttons that change a webhook. */
export function EndpointActions({ endpoint }: { endpoint: WebhookEndpoint }) {
  const mayUpdate = useMayCall(WebhookAdminService.method.updateEndpoint);
  const mayRotate = useMayCall(WebhookAdminService.method.rotateSecret);
  const mayDelete = useMayCall(WebhookAdminService.method.deleteEndpoint);
  const [open, setOpen] = useState<"edit" | "rotate" | "delete" | undefined>();
  const [secret, setSecret] = useState("");
  const close = () => setOpen(undefined);
  return (
    <>
      {mayUpdate && (
        <button type="button" className="button" onClick={() => setOpen("edit")}>
          {t("Edit")}
        </button>
      )}
      {mayRotate && (
        <button type="button" className="button" onClick={() => setOpen("rotate")}>
          <Icon name="key" />
          {t("Replace the secret")}
        </button>
      )}
      {mayDelete && (
        <button type="button" className="button" onClick={() => setOpen("delete")}>
          <Icon name="trash" />
          {t("Delete")}
        </button>
      )}
      {open === "edit" && <ChangeWebhook endpoint={endpoint} onClose={close} />}
      {open === "rotate" && <RotateSecret endpoint={endpoint} onClose={close} onRotated={setSecret} />}
      <SecretDialog secret={secret} onClose={() => setSecret("")} />
      <DeleteWebhook endpoint={endpoint} isOpen={open === "delete"} onOpenChange={close} />
    </>
  );
}

const KEPT_HOURS = [
  ["24", t("For 24 hours, beside the new one")],
  ["168", t("For 7 days, beside the new one")],
  ["0", t("No longer, because it became known to others")],
] as const;

type RotateProps = { endpoint: WebhookEndpoint; onClose: () => void; onRotated: (secret: string) => void };

function RotateSecret({ endpoint: { workspaceId, id }, onClose, onRotated }: RotateProps) {
  const [hours, setHours] = useState("24");
  const queryClient = useQueryClient();
  const rotation = useMutation({
    mutationFn: () => webhooks.rotateSecret({ workspaceId, id, keepPreviousHours: Number(hours) }),
    onSuccess: ({ secret }) => {
      onRotated(secret);
      void queryClient.invalidateQueries(endpointsQuery(workspaceId));
    },
    // Otherwise TanStack Query would keep the response, and with it the secret, for five minutes.
    gcTime: 0,
  });
  return (
    <Modal title={t("Replace the secret")} isOpen onOpenChange={onClose}>
      <MutationForm mutation={rotation} action={t("Replace the secret")} pendingAction={t("Saving…")} onClose={onClose}>
        <SelectField
          label={t("How long the previous secret signs too")}
          hint={t("Meanwhile, replace the secret on your server.")}
          options={KEPT_HOURS}
          value={hours}
          onChange={setHours}
        />
      </MutationForm>
    </Modal>
  );
}

type DeleteProps = { endpoint: WebhookEndpoint; isOpen: boolean; onOpenChange: () => void };

function DeleteWebhook({ endpoint, isOpen, onOpenChange }: DeleteProps) {
  const { workspaceId, id } = endpoint;
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const announce = useAnnounce();
  const deletion = useMutation({
    mutationFn: () => webhooks.deleteEndpoint({ workspaceId, id }),
    onSuccess: async () => {
      announce(t("The webhook was deleted."));
      await navigate({ to: "/webhooks" });
      await queryClient.invalidateQueries(endpointsQuery(workspaceId));
    },
    onError: (error) => announce(errorText(error), { isError: true }),
  });
  return (
    <Confirm
      title={t("Delete the webhook?")}
      text={t("{name} gets no more events. Events that wait and the log are deleted too. This cannot be undone.", {
        name: nameWebhook(endpoint),
      })}
      action={t("Delete")}
      isOpen={isOpen}
      onOpenChange={onOpenChange}
      onConfirm={() => deletion.mutate()}
    />
  );
}
