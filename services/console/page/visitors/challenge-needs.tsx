import { type ApiKey, KeyAdminService } from "@parley/rpc/conversation";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { keys as keysClient } from "../api/clients.ts";
import { errorText } from "../api/error-text.ts";
import { keysQuery, useBots } from "../api/queries.ts";
import { useMayCall } from "../api/session.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Icon } from "../components/icon.tsx";
import { t } from "../i18n/t.tsx";
import { nameKey } from "./name-key.ts";

const CHOICES: Readonly<Record<string, string>> = {
  off: t("Never"),
  suspicious: t("If the use is suspicious"),
  always: t("Always"),
};

/** Shows when each public key asks for a challenge. TokenNeeds shows the errors and the lack of keys. */
export function ChallengeNeeds({ workspaceId }: { workspaceId: string }) {
  const { data } = useQuery(keysQuery(workspaceId));
  const { data: bots = [] } = useBots();
  const keys = data?.filter(({ revokedAt }) => revokedAt === "");
  if (keys === undefined || keys.length === 0) return null;
  return (
    <section className="panel" aria-labelledby="challenge-needs">
      <h2 id="challenge-needs">{t("Which keys ask for a challenge")}</h2>
      <p className="hint">
        {t("Browsers solve a challenge by themselves. Programs that do not solve it get no answers.")}
      </p>
      <ul className="rows" aria-labelledby="challenge-needs">
        {keys.map((key) => (
          <KeyRow key={key.publicKey} apiKey={key} {...nameKey(key, bots)} />
        ))}
      </ul>
    </section>
  );
}

function KeyRow({ apiKey, title, uniqueName }: { apiKey: ApiKey } & ReturnType<typeof nameKey>) {
  const { workspaceId, publicKey, challenge } = apiKey;
  const queryClient = useQueryClient();
  const announce = useAnnounce();
  const mayUpdate = useMayCall(KeyAdminService.method.updateKey);
  const update = useMutation({
    // One choice after the other: of two requests at once, the older one could arrive last.
    scope: { id: `challenge ${publicKey}` },
    mutationFn: (chosen: string) => keysClient.updateKey({ workspaceId, publicKey, challenge: chosen }),
    onSuccess: async () => {
      announce(t("The key was changed. The change applies within seconds."));
      await queryClient.invalidateQueries(keysQuery(workspaceId));
    },
    onError: (error) => announce(errorText(error), { isError: true }),
  });
  const shown = update.isPending ? update.variables : challenge;
  return (
    <li className="row key">
      <span className="row-icon">
        <Icon name="key" />
      </span>
      <span className="row-text">
        <strong>{title}</strong>
        <code>{publicKey}</code>
      </span>
      <span className="row-actions">
        {mayUpdate ? (
          <select
            className="input"
            aria-label={t("When the key {key} asks for a challenge", { key: uniqueName })}
            value={shown}
            onChange={({ target }) => update.mutate(target.value)}
          >
            {Object.entries(CHOICES).map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        ) : (
          <span className="badge neutral">{CHOICES[challenge] ?? challenge}</span>
        )}
      </span>
    </li>
  );
}
