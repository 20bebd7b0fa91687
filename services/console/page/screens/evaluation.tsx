import { EvaluationAdminService } from "@parley/rpc/conversation";
import { useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { evaluationQuery } from "../api/question-queries.ts";
import { useMayCall, useSession } from "../api/session.ts";
import { sourceNamesQuery } from "../api/source-queries.ts";
import { BotScreen, useBotSlug } from "../components/bot-screen.tsx";
import { Empty, Failure, Loading } from "../components/states.tsx";
import { AddCase } from "../evaluation/add-case.tsx";
import { CaseRow } from "../evaluation/case-row.tsx";
import { Runs } from "../evaluation/runs.tsx";
import { formatNumber } from "../i18n/numbers.ts";
import { t } from "../i18n/t.tsx";
import "../evaluation/evaluation.css";

export function Evaluation() {
  const { workspace_id: workspaceId } = useSession();
  const botSlug = useBotSlug();
  // Starts these two queries together with the query for the list of bots, so that the three requests run in parallel.
  useQuery(evaluationQuery(workspaceId, botSlug));
  useQuery(sourceNamesQuery(workspaceId, botSlug));
  return (
    <BotScreen
      title={t("Evaluation")}
      intro={t(
        "Questions for which you know the document with the answer. Run them before and after you change the knowledge.",
      )}
      path="/evaluation"
    >
      {({ slug }) => <CasesAndRuns key={slug} botSlug={slug} />}
    </BotScreen>
  );
}

function CasesAndRuns({ botSlug }: { botSlug: string }) {
  const { workspace_id: workspaceId } = useSession();
  const { question = "" } = useSearch({ strict: false });
  const mayAdd = useMayCall(EvaluationAdminService.method.addCase);
  const { data, error, refetch } = useQuery(evaluationQuery(workspaceId, botSlug));
  if (data === undefined) return error ? <Failure error={error} onRetry={refetch} /> : <Loading />;
  const [last, previous] = data.runs.map(({ results }) => new Map(results.map((result) => [result.caseId, result])));
  return (
    <>
      <Runs botSlug={botSlug} runs={data.runs} hasCases={data.cases.length > 0} />
      {mayAdd && <AddCase key={question} botSlug={botSlug} suggestedQuestion={question} />}
      <section className="panel" aria-labelledby="cases">
        <h2 id="cases">
          {t("Questions")} {data.cases.length > 0 && <span className="count">{formatNumber(data.cases.length)}</span>}
        </h2>
        {data.cases.length === 0 && (
          <Empty icon="question" title={t("No question yet")}>
            {mayAdd
              ? t("Add a question above, and choose the document that answers it.")
              : t("An owner of the workspace can add one.")}
          </Empty>
        )}
        {data.cases.length > 0 && (
          <ul className="rows" aria-label={t("Questions of the evaluation")}>
            {data.cases.map((each) => (
              <CaseRow
                key={String(each.id)}
                botSlug={botSlug}
                evaluationCase={each}
                result={last?.get(each.id)}
                previousResult={previous?.get(each.id)}
              />
            ))}
          </ul>
        )}
      </section>
    </>
  );
}
