import { EmailAdminService, type EmailMessage, type EmailRecipient } from "@parley/rpc/conversation";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { emails } from "../api/clients.ts";
import { errorText } from "../api/error-text.ts";
import { useMayCall } from "../api/session.ts";
import { languageName } from "../bots/language-name.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Button } from "../components/button.tsx";
import { formatDateTime } from "../components/dates.ts";
import { Confirm } from "../components/dialogs.tsx";
import { FactLine } from "../components/facts.tsx";
import { focusNeighbour } from "../components/focus-neighbour.ts";
import { Icon } from "../components/icon.tsx";
import { t } from "../i18n/t.tsx";
import { recipientsQuery, sendTestEmail } from "./email-queries.ts";

export function RecipientRow({ recipient, isAvailable }: { recipient: EmailRecipient; isAvailable: boolean }) {
  const { workspaceId, id, address, language, lastMessage } = recipient;
  const mayTest = useMayCall(EmailAdminService.method.sendTestEmail);
  const mayRemove = useMayCall(EmailAdminService.method.removeRecipient);
  const [isConfirmOpen, setConfirmOpen] = useState(false);
  const row = useRef<HTMLLIElement>(null);
  const queryClient = useQueryClient();
  const announce = useAnnounce();
  const refresh = () => queryClient.invalidateQueries(recipientsQuery(workspaceId));
  const onError = (error: Error) => announce(errorText(error), { isError: true });
  const test = useMutation({
    mutationFn: () => sendTestEmail(workspaceId, id),
    onSuccess: async (message) => {
      announce(message ? describeMessage(message) : t("The message still waits."), {
        isError: message?.status !== "sent",
      });
      await refresh();
    },
    onError,
  });
  const removal = useMutation({
    mutationFn: () => emails.removeRecipient({ workspaceId, id }),
    onSuccess: async () => {
      focusNeighbour(row.current);
      announce(t("The recipient was removed."));
      await refresh();
    },
    onError,
  });
  return (
    <li ref={row} className="row recipient">
      <span className="row-icon">
        <Icon name="mail" />
      </span>
      <span className="row-text">
        <strong dir="ltr">{address}</strong>
        <small>
          <FactLine facts={[languageName(language), lastMessage && describeMessage(lastMessage)]} />
        </small>
      </span>
      {mayTest && isAvailable && (
        <Button
          className="button small"
          aria-label={t("Send a test message to {address}", { address })}
          isDisabled={test.isPending}
          onClick={() => test.mutate()}
        >
          {test.isPending ? t("Sending…") : t("Test")}
        </Button>
      )}
      {mayRemove && (
        <Button
          className="icon-button"
          aria-label={t("Remove {name}", { name: address })}
          isDisabled={removal.isPending}
          onClick={() => setConfirmOpen(true)}
        >
          <Icon name="trash" />
        </Button>
      )}
      <Confirm
        title={t("Remove the recipient?")}
        text={t("{address} gets no more messages. Those that wait are not sent.", { address })}
        action={t("Remove")}
        isOpen={isConfirmOpen}
        onOpenChange={setConfirmOpen}
        onConfirm={() => removal.mutate()}
      />
    </li>
  );
}

/** A failed attempt of a pending message has an error too. */
function describeMessage({ status, lastAttemptAt, error }: EmailMessage): string {
  if (status === "sent") return t("The last message was sent: {time}", { time: formatDateTime(lastAttemptAt) });
  if (status === "held") return t("The last message is held, because 20 were sent within an hour.");
  if (error !== "") return t("The last message was not sent: {reason}", { reason: error });
  return t("The message still waits.");
}
