import { KnowledgeAdminService, type ListUnansweredResponse, type UnansweredQuestion } from "@parley/rpc/conversation";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { unansweredQuery } from "../api/question-queries.ts";
import { useMayCall, useSession } from "../api/session.ts";
import { BotScreen, useBotSlug } from "../components/bot-screen.tsx";
import { formatDateTime } from "../components/dates.ts";
import { FactLine } from "../components/facts.tsx";
import { SelectField } from "../components/field.tsx";
import { Empty, Failure, Loading } from "../components/states.tsx";
import { formatNumber } from "../i18n/numbers.ts";
import { plural, T, t } from "../i18n/t.tsx";
import "../questions/questions.css";

const DAYS_OF_PERIOD = { week: 7, month: 30, quarter: 90 } as const;
type Period = keyof typeof DAYS_OF_PERIOD;
const PERIODS = Object.entries(DAYS_OF_PERIOD).map(
  ([period, days]) => [period, plural(days, "{count} day", "{count} days")] as const,
);

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
  const choose = (value: string) => void navigate({ to: "/questions", search: { bot: botSlug, period: value } });
  return (
    <section className="panel" aria-labelledby="groups">
      <div className="panel-header">
        <h2 id="groups">
          {t("Questions")}{" "}
          {data && data.questions.length > 0 && <span className="count">{formatNumber(data.groups)}</span>}
        </h2>
        <SelectField label={t("Period")} options={PERIODS} value={period} onChange={choose} />
      </div>
      {error && !data && <Failure error={error} onRetry={refetch} />}
      {!error && !data && <Loading />}
      {data && <QuestionList botSlug={botSlug} response={data} />}
    </section>
  );
}

/** Returns the text for an empty list. A partial list is based on the latest answers only. */
function describeEmptyList({ hasKnowledge, partial }: ListUnansweredResponse): string {
  if (partial) return t("None was found among the latest answers. Older ones were not searched.");
  return hasKnowledge
    ? t("The bot answered every question of this period from a passage or a tool, and no answer was rated bad.")
    : t("No answer was rated bad in this period.");
}

function QuestionList({ botSlug, response }: { botSlug: string; response: ListUnansweredResponse }) {
  const { questions, hasKnowledge } = response;
  const mayAddSource = useMayCall(KnowledgeAdminService.method.addSource);
  return (
    <>
      {questions.length === 0 && (
        <Empty icon="check" title={t("No unanswered question")}>
          {describeEmptyList(response)}
        </Empty>
      )}
      {questions.length > 0 && (
        <ul className="rows" aria-label={t("Unanswered questions")}>
          {questions.map((question) => (
            <QuestionRow key={`${question.sessionId} ${question.example}`} botSlug={botSlug} question={question} />
          ))}
        </ul>
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

function QuestionRow({ botSlug, question }: { botSlug: string; question: UnansweredQuestion }) {
  const mayAddSource = useMayCall(KnowledgeAdminService.method.addSource);
  const { example, count, ungrounded, declined, ratedDown, lastAt, sessionId, answeredBy } = question;
  const facts = [
    ungrounded > 0 && plural(ungrounded, "{count} without a passage", "{count} without a passage"),
    declined > 0 && plural(declined, "{count} without an answer", "{count} without an answer"),
    ratedDown > 0 && plural(ratedDown, "{count} rated bad", "{count} rated bad"),
    t("last {time}", { time: formatDateTime(lastAt) }),
  ];
  return (
    <li className="row question">
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
        </span>
        <small>
          <FactLine facts={facts} />
        </small>
        <span className="question-links">
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
