import { type ApiKey, KeyAdminService } from "@parley/rpc/conversation";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys as keysClient } from "../api/clients.ts";
import { errorText } from "../api/error-text.ts";
import { keysQuery, useBots } from "../api/queries.ts";
import { useMayCall } from "../api/session.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Button } from "../components/button.tsx";
import { Confirm } from "../components/dialogs.tsx";
import { Icon } from "../components/icon.tsx";
import { Failure, Loading } from "../components/states.tsx";
import { t } from "../i18n/t.tsx";
import { nameKey } from "./name-key.ts";

/** Shows which public keys need a visitor token. */
export function TokenNeeds({ workspaceId }: { workspaceId: string }) {
  const { data, error, refetch } = useQuery(keysQuery(workspaceId));
  const { data: bots = [] } = useBots();
  const keys = data?.filter(({ revokedAt }) => revokedAt === "");
  return (
    <section className="panel" aria-labelledby="token-needs">
      <h2 id="token-needs">{t("Which keys need a token")}</h2>
      {error && !keys && <Failure error={error} onRetry={refetch} />}
      {!error && !keys && <Loading lines={2} />}
      {keys?.length === 0 && <p className="muted">{t("No key yet")}</p>}
      {keys && keys.length > 0 && (
        <ul className="rows" aria-labelledby="token-needs">
          {keys.map((key) => (
            <KeyRow key={key.publicKey} apiKey={key} {...nameKey(key, bots)} />
          ))}
        </ul>
      )}
    </section>
  );
}

function KeyRow({ apiKey, title, uniqueName: key }: { apiKey: ApiKey } & ReturnType<typeof nameKey>) {
  const { workspaceId, publicKey, identity } = apiKey;
  const [isConfirming, setConfirming] = useState(false);
  const queryClient = useQueryClient();
  const announce = useAnnounce();
  const mayUpdate = useMayCall(KeyAdminService.method.updateKey);
  const isRequired = identity === "required";
  const update = useMutation({
    mutationFn: () => keysClient.updateKey({ workspaceId, publicKey, identity: isRequired ? "optional" : "required" }),
    onSuccess: async () => {
      announce(t("The key was changed. The change applies within seconds."));
      await queryClient.invalidateQueries(keysQuery(workspaceId));
    },
    onError: (error) => announce(errorText(error), { isError: true }),
  });
  return (
    <li className="row key">
      <span className="row-icon">
        <Icon name="key" />
      </span>
      <span className="row-text">
        <span className="row-title">
          <strong>{title}</strong>
          <span className="badge neutral">{isRequired ? t("Token required") : t("Token optional")}</span>
        </span>
        <code>{publicKey}</code>
      </span>
      {mayUpdate && (
        <span className="row-actions">
          <Button
            className="button small"
            aria-label={
              isRequired
                ? t("Make the token optional for the key {key}", { key })
                : t("Require a token for the key {key}", { key })
            }
            isDisabled={update.isPending}
            onClick={() => setConfirming(true)}
          >
            {isRequired ? t("Make optional") : t("Require a token")}
          </Button>
        </span>
      )}
      <Confirm
        title={isRequired ? t("Make the token optional?") : t("Require a token?")}
        text={
          isRequired
            ? t("Then visitors can write without a token, and every script of a page can claim any visitor's id.")
            : t("Within seconds, visitors without a token get no answers on pages with this key.")
        }
        action={isRequired ? t("Make optional") : t("Require a token")}
        isOpen={isConfirming}
        onOpenChange={setConfirming}
        onConfirm={() => update.mutate()}
      />
    </li>
  );
}
