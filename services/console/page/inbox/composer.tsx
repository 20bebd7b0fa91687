import { PostMessageRequestSchema } from "@parley/rpc/conversation";
import { limitsOf } from "@parley/rpc/rules";
import { useMutation } from "@tanstack/react-query";
import { type KeyboardEvent, type SubmitEvent, useEffect, useRef, useState } from "react";
import { errorText } from "../api/error-text.ts";
import { Button } from "../components/button.tsx";
import { TextArea } from "../components/field.tsx";
import { t } from "../i18n/t.tsx";
import { changeHandoff, sendAnswer } from "./answer-visitor.ts";
import { CannedReplyList, useCannedReplies } from "./canned-reply-list.tsx";

/** The visitor sees for 5 s that the agent is typing. */
const TYPING_MS = 3_000;
const { max: MAX_CHARACTERS } = limitsOf(PostMessageRequestSchema.field.text);

/** A repeat of the same text has the same id, so that a message whose response was lost is not sent twice. */
type Draft = { text: string; attempt?: { text: string; id: string } };

/** What was not sent yet, by conversation. It stays while the agent reads another one, or a colleague has the conversation. */
const drafts = new Map<string, Draft>();

/** Writes to the visitor. A message that could not be sent stays in the field. */
export function Composer({ sessionId, onSent }: { sessionId: string; onSent: () => void }) {
  const [text, setText] = useState(drafts.get(sessionId)?.text ?? "");
  const form = useRef<HTMLFormElement>(null);
  const typedAtMs = useRef(Number.NEGATIVE_INFINITY);
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => {
      const last = drafts.get(sessionId)?.attempt;
      const attempt = last?.text === text ? last : { text, id: crypto.randomUUID() };
      drafts.set(sessionId, { text, attempt });
      return sendAnswer(sessionId, text, attempt.id);
    },
    onSuccess: () => {
      drafts.delete(sessionId);
      setText("");
      onSent();
    },
  });
  useEffect(() => form.current?.querySelector("textarea")?.focus(), []);
  const canSend = text.trim() !== "" && !isPending;
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (canSend) mutate();
  };
  const change = (changed: string) => {
    setText(changed);
    drafts.set(sessionId, { ...drafts.get(sessionId), text: changed });
    if (changed === "" || performance.now() - typedAtMs.current < TYPING_MS) return;
    typedAtMs.current = performance.now();
    // The visitor only misses that the agent is typing.
    changeHandoff(sessionId, "typing").catch(() => undefined);
  };
  const canned = useCannedReplies(text, change);
  const sendOnEnter = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (canned.handleKey(event)) return;
    // Enter that confirms an IME's text has the keyCode 229. `isComposing` does not detect this Enter in Safari.
    if (event.keyCode !== 13 || event.shiftKey) return;
    event.preventDefault();
    if (canSend) mutate();
  };
  return (
    <form ref={form} className="composer panel" onSubmit={submit}>
      <CannedReplyList {...canned} />
      <TextArea
        label={t("Your answer")}
        hint={`${t("Enter sends, Shift+Enter starts a new line.")} ${t("/ at the beginning inserts a canned reply.")}`}
        rows={3}
        maxLength={MAX_CHARACTERS}
        value={text}
        readOnly={isPending}
        onChange={({ target }) => change(target.value)}
        onKeyDown={sendOnEnter}
        {...canned.fieldAttributes}
      />
      {error && (
        <p className="form-error" role="alert">
          {t("The message was not sent.")} {errorText(error)}
        </p>
      )}
      <div className="modal-actions">
        <Button type="submit" className="button primary" isDisabled={!canSend}>
          {isPending ? t("Sending…") : t("Send")}
        </Button>
      </div>
    </form>
  );
}
