import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { webhooks } from "../api/clients.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Modal } from "../components/dialogs.tsx";
import { TextField } from "../components/field.tsx";
import { MutationForm } from "../components/mutation-form.tsx";
import { t } from "../i18n/t.tsx";
import { describeQueued } from "./delivery-row.tsx";
import { type EndpointRef, refreshEndpoint } from "./webhook-queries.ts";

/** The largest range that the service accepts. */
const MAX_EVENTS = 1_000;

type RangeProps = { endpoint: EndpointRef; lastSequence: bigint; onClose: () => void };

export function RedeliverRange({ endpoint: { workspaceId, id }, lastSequence, onClose }: RangeProps) {
  const [from, setFrom] = useState("");
  const [to, setTo] = useState("");
  const queryClient = useQueryClient();
  const announce = useAnnounce();
  const redelivery = useMutation({
    mutationFn: () => webhooks.redeliver({ workspaceId, id, fromSequence: BigInt(from), toSequence: BigInt(to) }),
    onSuccess: ({ queued }) => {
      announce(describeQueued(queued));
      void refreshEndpoint(queryClient, { workspaceId, id });
    },
  });
  return (
    <Modal
      title={t("Send a range again")}
      description={t(
        "If your server lacks some numbers (sequence in the JSON), send these events again, at most {count} at once. They keep their ids.",
        { count: MAX_EVENTS },
      )}
      isOpen
      onOpenChange={onClose}
    >
      <MutationForm mutation={redelivery} action={t("Send again")} pendingAction={t("Sending…")} onClose={onClose}>
        <NumberField label={t("First number")} min={1} max={Number(lastSequence)} value={from} onChange={setFrom} />
        <NumberField
          label={t("Last number")}
          min={Number(from) || 1}
          max={(Number(from) || 1) + MAX_EVENTS - 1}
          value={to}
          onChange={setTo}
        />
      </MutationForm>
    </Modal>
  );
}

type NumberFieldProps = { label: string; min: number; max: number; value: string; onChange: (value: string) => void };

function NumberField({ onChange, ...props }: NumberFieldProps) {
  return <TextField {...props} type="number" step={1} required onChange={({ target }) => onChange(target.value)} />;
}
