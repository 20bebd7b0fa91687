import { AddCaseRequestSchema } from "@parley/rpc/conversation";
import { limitsOf } from "@parley/rpc/rules";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";
import { evaluations } from "../api/clients.ts";
import { errorText } from "../api/error-text.ts";
import { evaluationQuery } from "../api/question-queries.ts";
import { useSession } from "../api/session.ts";
import { sourceNamesQuery } from "../api/source-queries.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Button } from "../components/button.tsx";
import { SelectField, TextField } from "../components/field.tsx";
import { Icon } from "../components/icon.tsx";
import { Failure } from "../components/states.tsx";
import { useFormReset } from "../components/use-form-reset.ts";
import { t } from "../i18n/t.tsx";

type AddCaseProps = { botSlug: string; suggestedQuestion: string };

export function AddCase({ botSlug, suggestedQuestion }: AddCaseProps) {
  const { workspace_id: workspaceId } = useSession();
  const sources = useQuery(sourceNamesQuery(workspaceId, botSlug));
  const [question, setQuestion] = useState(suggestedQuestion);
  const [chosen, setChosen] = useState<string>();
  const form = useFormReset(question === "");
  const queryClient = useQueryClient();
  const announce = useAnnounce();
  const names = sources.data ?? [];
  /** Empty for an answer of the owner. */
  const document = chosen === "" || (chosen !== undefined && names.includes(chosen)) ? chosen : (names[0] ?? "");
  const adding = useMutation({
    mutationFn: (addedQuestion: string) =>
      evaluations.addCase({ workspaceId, botSlug, question: addedQuestion, document }),
    onSuccess: async (_, addedQuestion) => {
      // The owner may have typed the next question in the meantime.
      setQuestion((current) => (current === addedQuestion ? "" : current));
      announce(t("The question was added."));
      await queryClient.invalidateQueries(evaluationQuery(workspaceId, botSlug));
    },
  });
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    adding.mutate(question);
  };
  return (
    <section className="panel" aria-label={t("Add a question")}>
      <form ref={form} className="inline-form" onSubmit={submit}>
        <TextField
          label={t("Question")}
          required
          maxLength={limitsOf(AddCaseRequestSchema.field.question).max}
          pattern=".*\S.*"
          formatError={t("Write a question.")}
          value={question}
          onChange={({ target }) => setQuestion(target.value)}
        />
        <SelectField
          label={t("What answers it")}
          options={[...names.map((name) => [name, name] as const), ["", t("An answer of yours")]]}
          value={document}
          onChange={setChosen}
        />
        <Button type="submit" isDisabled={adding.isPending || sources.data === undefined}>
          <Icon name="plus" />
          {adding.isPending ? t("Adding…") : t("Add question")}
        </Button>
      </form>
      {sources.error && !sources.data && <Failure error={sources.error} onRetry={sources.refetch} />}
      {adding.error && (
        <p className="form-error" role="alert">
          {errorText(adding.error)}
        </p>
      )}
    </section>
  );
}
