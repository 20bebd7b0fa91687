import { KnowledgeAdminService, type ListUnansweredResponse, type UnansweredQuestion } from "@parley/rpc/conversation";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { EditAnswer } from "../answers/edit-answer.tsx";
import { unansweredQuery } from "../api/question-queries.ts";
import { useMayCall, useSession } from "../api/session.ts";
import { BotScreen, useBotSlug } from "../components/bot-screen.tsx";
import { SelectField } from "../components/field.tsx";
import { Empty, Failure, Loading } from "../components/states.tsx";
import { formatNumber } from "../i18n/numbers.ts";
import { plural, t } from "../i18n/t.tsx";
import { QuestionRow } from "../questions/question-row.tsx";
import "../questions/questions.css";

const DAYS_OF_PERIOD = { week: 7, month: 30, quarter: 90 } as const;
type Period = keyof typeof DAYS_OF_PERIOD;
const PERIODS = Object.entries(DAYS_OF_PERIOD).map(
  ([period, days]) => [period, plural(days, "{count} day", "{count} days")] as const,
);

/** A question is answered if a document or an answer that was added since it was last asked answers it. */
const STATES = [
  ["open", t("Open")],
  ["answered", t("Answered since")],
  ["all", t("All")],
] as const;
type State = (typeof STATES)[number][0];

function useQuestionState(): State {
  const { state } = useSearch({ strict: false });
  return STATES.find(([each]) => each === state)?.[0] ?? "open";
}

const isAnswered = ({ answeredBy, answeredByAnswer }: UnansweredQuestion) =>
  answeredBy !== "" || answeredByAnswer !== 0n;

function usePeriod(): Period {
  const { period = "" } = useSearch({ strict: false });
  return Object.hasOwn(DAYS_OF_PERIOD, period) ? (period as Period) : "month";
}

export function Questions() {
  const { workspace_id: workspaceId } = useSession();
  const period = usePeriod();
  // Starts the query before the list of bots is loaded, so that the two requests run in parallel.
  useQuery(unansweredQuery(workspaceId, useBotSlug(), DAYS_OF_PERIOD[period]));
  return (
    <BotScreen
      title={t("Unanswered questions")}
      intro={t(
        "What visitors asked when no passage of a document was found, when the bot said that it has no answer, or when they rated the answer bad.",
      )}
      path="/questions"
    >
      {({ slug }) => <Unanswered key={slug} botSlug={slug} period={period} />}
    </BotScreen>
  );
}

function Unanswered({ botSlug, period }: { botSlug: string; period: Period }) {
  const { workspace_id: workspaceId } = useSession();
  const navigate = useNavigate();
  const { data, error, refetch } = useQuery(unansweredQuery(workspaceId, botSlug, DAYS_OF_PERIOD[period]));
  const state = useQuestionState();
  const choose = (chosen: { period?: string; state?: string }) =>
    void navigate({ to: "/questions", search: { bot: botSlug, period, state, ...chosen } });
  const questions = data?.questions.filter((each) => state === "all" || isAnswered(each) === (state === "answered"));
  return (
    <section className="panel" aria-labelledby="groups">
      <div className="panel-header">
        <h2 id="groups">
          {t("Questions")}{" "}
          {questions && questions.length > 0 && <span className="count">{formatNumber(questions.length)}</span>}
        </h2>
        <div className="question-filters">
          <SelectField
            label={t("Status")}
            options={STATES}
            value={state}
            onChange={(value) => choose({ state: value })}
          />
          <SelectField
            label={t("Period")}
            options={PERIODS}
            value={period}
            onChange={(value) => choose({ period: value })}
          />
        </div>
      </div>
      <p className="visually-hidden" role="status">
        {questions && t("Questions shown: {count}", { count: questions.length })}
      </p>
      {error && !data && <Failure error={error} onRetry={refetch} />}
      {!error && !data && <Loading />}
      {data && questions && <QuestionList botSlug={botSlug} response={data} questions={questions} state={state} />}
    </section>
  );
}

/** Returns the text for an empty list. A partial list is based on the latest answers only. */
function describeEmptyList({ questions, hasKnowledge, partial }: ListUnansweredResponse, state: State): string {
  if (state === "answered") return t("Nothing was added yet that answers one of the questions.");
  if (questions.length > 0) return t("All questions of this period have been answered since they were asked.");
  if (partial) return t("None was found among the latest answers. Older ones were not searched.");
  return hasKnowledge
    ? t("The bot answered every question of this period from a passage or a tool, and no answer was rated bad.")
    : t("No answer was rated bad in this period.");
}

type QuestionListProps = {
  botSlug: string;
  response: ListUnansweredResponse;
  /** The questions of the response that have the state. */
  questions: readonly UnansweredQuestion[];
  state: State;
};

function QuestionList({ botSlug, response, questions, state }: QuestionListProps) {
  const { hasKnowledge } = response;
  // Not in the question's row, so that the dialog keeps what was typed when the list is read again and the row has changed.
  const [written, setWritten] = useState("");
  const mayAddSource = useMayCall(KnowledgeAdminService.method.addSource);
  return (
    <>
      {questions.length === 0 && (
        <Empty icon="check" title={t("No unanswered question")}>
          {describeEmptyList(response, state)}
        </Empty>
      )}
      {questions.length > 0 && (
        <ul className="rows" aria-label={t("Unanswered questions")}>
          {questions.map((question) => (
            <QuestionRow
              key={`${question.sessionId} ${question.example}`}
              botSlug={botSlug}
              question={question}
              onWrite={() => setWritten(question.example)}
            />
          ))}
        </ul>
      )}
      {written !== "" && (
        <EditAnswer
          botSlug={botSlug}
          suggestedQuestion={written.trim().replace(/\s+/g, " ")}
          onClose={() => setWritten("")}
        />
      )}
      <p className="hint">{describeScope(response)}</p>
      {!hasKnowledge && (
        <p className="hint">
          {t("The bot has no document yet, so only answers that were rated bad are listed.")}{" "}
          {mayAddSource && (
            <Link to="/knowledge" search={{ bot: botSlug }}>
              {t("Add a document")}
            </Link>
          )}
        </p>
      )}
    </>
  );
}

function describeScope({ questions, groups, partial, repliesRead }: ListUnansweredResponse): string {
  const parts = [
    t(
      "Questions with the same words are counted together. Greetings are left out. Answers that used a tool are left out, unless the bot said that it has no answer or visitors rated them bad.",
    ),
  ];
  if (questions.length < groups)
    parts.push(
      plural(
        questions.length,
        "Only the {count} most frequent question is listed.",
        "Only the {count} most frequent questions are listed.",
      ),
    );
  if (partial)
    parts.push(
      t(
        "The period has too many unanswered or badly rated questions. Only the latest were searched: {count} in total, including other bots' answers that were rated bad.",
        { count: repliesRead },
      ),
    );
  return parts.join(" ");
}
