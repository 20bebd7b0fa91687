import { AddAnswerRequestSchema, type Answer } from "@parley/rpc/conversation";
import { limitsOf } from "@parley/rpc/rules";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { answers } from "../api/clients.ts";
import { useSession } from "../api/session.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Modal } from "../components/dialogs.tsx";
import { TextArea } from "../components/field.tsx";
import { MutationForm } from "../components/mutation-form.tsx";
import { withoutBlanks } from "../components/without-blanks.ts";
import { t } from "../i18n/t.tsx";
import { refreshAnswers } from "./refresh-answers.ts";

type EditAnswerProps = {
  botSlug: string;
  answer?: Answer;
  /** The question of a new answer. */
  suggestedQuestion?: string;
  onClose: () => void;
};

/** A dialog that changes `answer` or, without one, adds an answer. */
export function EditAnswer({ botSlug, answer, suggestedQuestion = "", onClose }: EditAnswerProps) {
  const { workspace_id: workspaceId } = useSession();
  const [questions, setQuestions] = useState(answer?.questions.join("\n") ?? suggestedQuestion);
  const [text, setText] = useState(answer?.answer ?? "");
  const queryClient = useQueryClient();
  const announce = useAnnounce();
  const saving = useMutation({
    mutationFn: async () => {
      const fields = { workspaceId, botSlug, questions: withoutBlanks(questions.split("\n")), answer: text };
      if (answer) await answers.updateAnswer({ ...fields, id: answer.id });
      else await answers.addAnswer(fields);
    },
    onSuccess: () => {
      announce(t("The answer was saved. The bot gives it within seconds."));
      void refreshAnswers(queryClient, workspaceId, botSlug);
    },
  });
  return (
    <Modal title={answer ? t("Change the answer") : t("New answer")} isOpen onOpenChange={onClose}>
      <MutationForm mutation={saving} action={t("Save answer")} pendingAction={t("Saving…")} onClose={onClose}>
        <TextArea
          label={t("Questions")}
          hint={t(
            "One a line, at most {count}: the ways in which visitors ask. Case, accents, punctuation and short words do not matter, but all other words must be the same.",
            { count: limitsOf(AddAnswerRequestSchema.field.questions).max },
          )}
          required
          rows={4}
          value={questions}
          onChange={({ target }) => setQuestions(target.value)}
        />
        <TextArea
          label={t("Answer")}
          hint={t("Visitors read exactly this. In Markdown: **bold**, lists and links.")}
          required
          rows={6}
          maxLength={limitsOf(AddAnswerRequestSchema.field.answer).max}
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
      </MutationForm>
    </Modal>
  );
}
