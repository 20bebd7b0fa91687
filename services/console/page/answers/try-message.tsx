import { CheckMessageRequestSchema, type CheckMessageResponse } from "@parley/rpc/conversation";
import { limitsOf } from "@parley/rpc/rules";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answers } from "../api/clients.ts";
import { errorText } from "../api/error-text.ts";
import { answersQuery } from "../api/question-queries.ts";
import { useSession } from "../api/session.ts";
import { TextField } from "../components/field.tsx";
import { useAfterPause } from "../components/use-after-pause.ts";
import { formatPercent } from "../i18n/numbers.ts";
import { T, t } from "../i18n/t.tsx";

/** The trial starts when the owner has typed nothing for this time. */
const PAUSE_MS = 400;

/** Shows which answer the bot would give to a message, and why, while the owner types it. */
export function TryMessage({ botSlug }: { botSlug: string }) {
  const { workspace_id: workspaceId } = useSession();
  const [typed, setTyped] = useState("");
  const message = useAfterPause(typed.trim(), PAUSE_MS);
  const { data, error } = useQuery({
    // Below the key of the answers, so that a changed answer is tried again.
    queryKey: [...answersQuery(workspaceId, botSlug).queryKey, "check", message],
    queryFn: () => answers.checkMessage({ workspaceId, botSlug, message }),
    enabled: message !== "",
    gcTime: 0,
  });
  const isCurrent = message !== "" && message === typed.trim();
  return (
    <div className="form">
      <TextField
        label={t("Message")}
        maxLength={limitsOf(CheckMessageRequestSchema.field.message).max}
        value={typed}
        onChange={({ target }) => setTyped(target.value)}
      />
      <div className="form" aria-live="polite">
        {isCurrent && error && <p className="form-error">{errorText(error)}</p>}
        {isCurrent && !error && data && <Result checked={data} />}
      </div>
    </div>
  );
}

function Result({ checked: { answer, question, similarity, given } }: { checked: CheckMessageResponse }) {
  if (answer === undefined)
    return <p>{t("The bot gives none of these answers: no question has a word of the message.")}</p>;
  const asked = <strong dir="auto">{question}</strong>;
  return (
    <>
      <p>
        {given ? (
          <T text="The bot gives this answer, because the message asks {question}:" question={asked} />
        ) : (
          <T
            text="The bot gives none of these answers. The nearest question is {question}: {percent} of the words are the same."
            question={asked}
            percent={formatPercent(similarity)}
          />
        )}
      </p>
      {given && (
        <blockquote className="answer-text whole" dir="auto">
          {answer.answer}
        </blockquote>
      )}
    </>
  );
}
