import { useSession } from "../api/session.ts";
import { PageHeader } from "../components/page-header.tsx";
import { t } from "../i18n/t.tsx";
import { BackendCode } from "../visitors/backend-code.tsx";
import { ChallengeNeeds } from "../visitors/challenge-needs.tsx";
import { IdentityKeys } from "../visitors/identity-keys.tsx";
import { TokenNeeds } from "../visitors/token-needs.tsx";

export function Visitors() {
  const { workspace_id: workspaceId } = useSession();
  return (
    <div className="screen">
      <PageHeader title={t("Visitors")}>
        {t(
          "Your backend can sign a token that says who a visitor is. Without a token, every script of a page can claim any visitor's id.",
        )}
      </PageHeader>
      <IdentityKeys workspaceId={workspaceId} />
      <TokenNeeds workspaceId={workspaceId} />
      <ChallengeNeeds workspaceId={workspaceId} />
      <BackendCode />
    </div>
  );
}
