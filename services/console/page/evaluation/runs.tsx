import { EvaluationAdminService, type EvaluationRun } from "@parley/rpc/conversation";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { evaluations } from "../api/clients.ts";
import { errorText } from "../api/error-text.ts";
import { evaluationQuery } from "../api/question-queries.ts";
import { useMayCall, useSession } from "../api/session.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Button } from "../components/button.tsx";
import { formatDateTime } from "../components/dates.ts";
import { Icon } from "../components/icon.tsx";

type RunsProps = {
  botSlug: string;
  /** Latest first. */
  runs: readonly EvaluationRun[];
  hasCases: boolean;
};

/** Shows the share of questions whose document was found, in the last run and in the run before. */
export function Runs({ botSlug, runs, hasCases }: RunsProps) {
  const { workspace_id: workspaceId } = useSession();
  const mayRun = useMayCall(EvaluationAdminService.method.runEvaluation);
  const queryClient = useQueryClient();
  const announce = useAnnounce();
  const running = useMutation({
    mutationFn: () => evaluations.runEvaluation({ workspaceId, botSlug }),
    onSuccess: async ({ run }) => {
      await queryClient.invalidateQueries(evaluationQuery(workspaceId, botSlug));
      if (run) announce(`Found the document for ${run.found} of ${run.searched} questions.`);
    },
  });
  const [last, before] = runs;
  return (
    <section className="panel" aria-labelledby="result">
      <div className="panel-header">
        <h2 id="result">Result</h2>
        {mayRun && (
          <Button
            className="button primary"
            isDisabled={running.isPending || !hasCases}
            onClick={() => running.mutate()}
          >
            <Icon name="play" />
            {running.isPending ? "Running…" : "Run"}
          </Button>
        )}
      </div>
      {running.error && (
        <p className="form-error" role="alert">
          {errorText(running.error)}
        </p>
      )}
      {last === undefined && (
        <p className="hint">
          A run searches the knowledge with each question, as with a visitor's message, and counts the questions for
          which the search finds their document.
        </p>
      )}
      {last && (
        <>
          <dl className="recall">
            <div>
              <dt>Found in the last run</dt>
              <dd>{formatShare(last)}</dd>
            </div>
            <div>
              <dt>In the run before</dt>
              <dd>{before ? formatShare(before) : "–"}</dd>
            </div>
          </dl>
          {describeGaps(last).map((gap) => (
            <p key={gap} className="hint">
              {gap}
            </p>
          ))}
          <History runs={runs} />
        </>
      )}
    </section>
  );
}

function History({ runs }: { runs: readonly EvaluationRun[] }) {
  return (
    <details className="runs">
      <summary>{runs.length === 1 ? "1 run" : `The last ${runs.length} runs`}</summary>
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Time</th>
            <th scope="col" className="number">
              Documents
            </th>
            <th scope="col" className="number">
              Found
            </th>
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <tr key={String(run.id)}>
              <th scope="row">{formatDateTime(run.ranAt)}</th>
              <td className="number">{run.documents.toLocaleString()}</td>
              <td className="number">
                {run.found} of {run.searched} ({formatShare(run)})
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

function formatShare({ found, searched }: EvaluationRun): string {
  return searched === 0 ? "–" : (found / searched).toLocaleString(undefined, { style: "percent" });
}

function describeGaps({ cases, searched, semanticFailures }: EvaluationRun): string[] {
  const gaps = [];
  if (searched < cases) gaps.push(`${searched} of ${cases} questions were searched: the run reached its time limit.`);
  if (semanticFailures > 0)
    gaps.push(
      `Questions for which only words were compared, because the search by meaning failed: ${semanticFailures}.`,
    );
  return gaps;
}
