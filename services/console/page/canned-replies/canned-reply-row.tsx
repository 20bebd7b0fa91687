import type { CannedReply } from "@parley/rpc/conversation";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { cannedReplies } from "../api/clients.ts";
import { errorText } from "../api/error-text.ts";
import { useSession } from "../api/session.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Button } from "../components/button.tsx";
import { Confirm } from "../components/dialogs.tsx";
import { focusNeighbour } from "../components/focus-neighbour.ts";
import { Icon } from "../components/icon.tsx";
import { isolate } from "../i18n/language.ts";
import { t } from "../i18n/t.tsx";
import { cannedRepliesQuery } from "./canned-replies-query.ts";

type RowProps = { reply: CannedReply; mayChange: boolean; onEdit: () => void };

export function CannedReplyRow({ reply, mayChange, onEdit }: RowProps) {
  const { workspace_id: workspaceId } = useSession();
  const [isConfirmOpen, setConfirmOpen] = useState(false);
  const row = useRef<HTMLLIElement>(null);
  const queryClient = useQueryClient();
  const announce = useAnnounce();
  const removal = useMutation({
    mutationFn: () => cannedReplies.removeCannedReply({ workspaceId, id: reply.id }),
    onSuccess: async () => {
      focusNeighbour(row.current);
      announce(t("The canned reply was removed."));
      await queryClient.invalidateQueries(cannedRepliesQuery(workspaceId));
    },
    onError: (error) => announce(errorText(error), { isError: true }),
  });
  const name = isolate(reply.name);
  return (
    <li ref={row} className="row answer">
      <span className="row-text">
        <strong dir="auto">{reply.name}</strong>
        <span className="answer-text" dir="auto">
          {reply.text}
        </span>
      </span>
      {mayChange && (
        <>
          <button type="button" className="button small" aria-label={t("Edit {name}", { name })} onClick={onEdit}>
            {t("Edit")}
          </button>
          <Button
            className="icon-button"
            aria-label={t("Remove {name}", { name })}
            isDisabled={removal.isPending}
            onClick={() => setConfirmOpen(true)}
          >
            <Icon name="trash" />
          </Button>
        </>
      )}
      <Confirm
        title={t("Remove the canned reply?")}
        text={<bdi>{reply.name}</bdi>}
        action={t("Remove")}
        isOpen={isConfirmOpen}
        onOpenChange={setConfirmOpen}
        onConfirm={() => removal.mutate()}
      />
    </li>
  );
}
