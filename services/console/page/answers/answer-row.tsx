import { type Answer, AnswerAdminService } from "@parley/rpc/conversation";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { answers } from "../api/clients.ts";
import { errorText } from "../api/error-text.ts";
import { useMayCall, useSession } from "../api/session.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Button } from "../components/button.tsx";
import { Confirm } from "../components/dialogs.tsx";
import { focusNeighbour } from "../components/focus-neighbour.ts";
import { Icon } from "../components/icon.tsx";
import { isolate } from "../i18n/language.ts";
import { t } from "../i18n/t.tsx";
import { refreshAnswers } from "./refresh-answers.ts";

type AnswerRowProps = { answer: Answer; botSlug: string; onEdit: () => void };

export function AnswerRow({ answer, botSlug, onEdit }: AnswerRowProps) {
  const { workspace_id: workspaceId } = useSession();
  const mayUpdate = useMayCall(AnswerAdminService.method.updateAnswer);
  const mayRemove = useMayCall(AnswerAdminService.method.removeAnswer);
  const [isConfirmOpen, setConfirmOpen] = useState(false);
  const row = useRef<HTMLLIElement>(null);
  const queryClient = useQueryClient();
  const announce = useAnnounce();
  const removal = useMutation({
    mutationFn: () => answers.removeAnswer({ workspaceId, botSlug, id: answer.id }),
    onSuccess: async () => {
      focusNeighbour(row.current);
      announce(t("The answer was removed."));
      await refreshAnswers(queryClient, workspaceId, botSlug);
    },
    onError: (error) => announce(errorText(error), { isError: true }),
  });
  const [question = "", ...others] = answer.questions;
  const name = isolate(question);
  return (
    <li ref={row} className="row answer">
      <span className="row-icon">
        <Icon name="answer" />
      </span>
      <span className="row-text">
        <strong dir="auto">{question}</strong>
        {others.length > 0 && <small>{t("More questions: {count}", { count: others.length })}</small>}
        <span className="answer-text" dir="auto">
          {answer.answer}
        </span>
      </span>
      {mayUpdate && (
        <button type="button" className="button small" aria-label={t("Edit {name}", { name })} onClick={onEdit}>
          {t("Edit")}
        </button>
      )}
      {mayRemove && (
        <Button
          className="icon-button"
          aria-label={t("Remove {name}", { name })}
          isDisabled={removal.isPending}
          onClick={() => setConfirmOpen(true)}
        >
          <Icon name="trash" />
        </Button>
      )}
      <Confirm
        title={t("Remove the answer?")}
        text={<bdi>{question}</bdi>}
        action={t("Remove")}
        isOpen={isConfirmOpen}
        onOpenChange={setConfirmOpen}
        onConfirm={() => removal.mutate()}
      />
    </li>
  );
}
