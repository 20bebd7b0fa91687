import { AnswerAdminService, KnowledgeAdminService, type UnansweredQuestion } from "@parley/rpc/conversation";
import { Link } from "@tanstack/react-router";
import { useLayoutEffect, useRef } from "react";
import { useMayCall } from "../api/session.ts";
import { formatDateTime } from "../components/dates.ts";
import { FactLine } from "../components/facts.tsx";
import { focusNeighbour } from "../components/focus-neighbour.ts";
import { formatNumber } from "../i18n/numbers.ts";
import { plural, T, t } from "../i18n/t.tsx";

type QuestionRowProps = {
  botSlug: string;
  question: UnansweredQuestion;
  /** Opens the dialog for the answer. */
  onWrite: () => void;
};

export function QuestionRow({ botSlug, question, onWrite }: QuestionRowProps) {
  const mayAddSource = useMayCall(KnowledgeAdminService.method.addSource);
  const mayAddAnswer = useMayCall(AnswerAdminService.method.addAnswer);
  const { example, count, ungrounded, declined, ratedDown, lastAt, sessionId, answeredBy, answeredByAnswer } = question;
  const row = useFocusOfNeighbour();
  const facts = [
    ungrounded > 0 && plural(ungrounded, "{count} without a passage", "{count} without a passage"),
    declined > 0 && plural(declined, "{count} without an answer", "{count} without an answer"),
    ratedDown > 0 && plural(ratedDown, "{count} rated bad", "{count} rated bad"),
    t("last {time}", { time: formatDateTime(lastAt) }),
  ];
  return (
    <li ref={row} className="row question">
      <span className="question-count">
        <span aria-hidden="true">{formatNumber(count)}</span>
        <span className="visually-hidden">{plural(count, "{count} time", "{count} times")}</span>
      </span>
      <span className="row-text">
        <span className="row-title">
          <strong dir="auto">{example}</strong>
          {answeredBy !== "" && (
            <span className="badge answered">
              <T text="Answered since by {document}" document={<bdi>{answeredBy}</bdi>} />
            </span>
          )}
          {answeredByAnswer !== 0n && (
            <Link to="/answers" search={{ bot: botSlug }} className="badge answered">
              {t("Answered since by an answer of yours")}
            </Link>
          )}
        </span>
        <small>
          <FactLine facts={facts} />
        </small>
        <span className="question-links">
          {mayAddAnswer && (
            <button
              type="button"
              className="link-button"
              aria-label={t("Write the answer: {question}", { question: example })}
              onClick={onWrite}
            >
              {t("Write the answer")}
            </button>
          )}
          {mayAddSource && (
            <Link
              to="/knowledge"
              search={{ bot: botSlug, title: example }}
              resetScroll={false}
              aria-label={t("Add knowledge: {question}", { question: example })}
            >
              {t("Add knowledge")}
            </Link>
          )}
          <Link
            to="/knowledge"
            search={{ bot: botSlug, question: example }}
            resetScroll={false}
            aria-label={t("Try this question: {question}", { question: example })}
          >
            {t("Try this question")}
          </Link>
          <Link
            to="/conversations/$id"
            params={{ id: sessionId }}
            search={{ question: example }}
            resetScroll={false}
            aria-label={t("Read the conversation: {question}", { question: example })}
          >
            {t("Read the conversation")}
          </Link>
        </span>
      </span>
    </li>
  );
}

/** Returns the ref of a row. If the row has the focus when it disappears, for example because its question was answered, the next row gets the focus. */
function useFocusOfNeighbour() {
  const row = useRef<HTMLLIElement>(null);
  useLayoutEffect(() => {
    const { current } = row;
    return () => {
      if (current?.contains(document.activeElement)) focusNeighbour(current);
    };
  }, []);
  return row;
}
